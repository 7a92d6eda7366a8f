-- Beliefs, what is recorded of them, and their labels. Beliefs are memories: what one says is in its file. Labels: 0 out, 1 in, 2 undecided.

CREATE TABLE beliefs (
  arrived INTEGER PRIMARY KEY,
  id BLOB NOT NULL UNIQUE REFERENCES sealed_memories (digest) DEFERRABLE INITIALLY DEFERRED,
  standing INTEGER NOT NULL CHECK (standing IN (0, 1, 2)),  -- learned, axiom, core
  asserted_ns INTEGER NOT NULL,
  is_forgotten INTEGER NOT NULL DEFAULT 0 CHECK (is_forgotten IN (0, 1)),
  label INTEGER NOT NULL CHECK (label IN (0, 1, 2)),
  support INTEGER NOT NULL CHECK (support IN (0, 1, 2)),
  taken INTEGER NOT NULL CHECK (taken IN (0, 1, 2)),  -- its place: by itself, or by what supersedes it
  heir BLOB REFERENCES beliefs (id)
) STRICT;

-- The lists are digests, one after the other, sorted.
CREATE TABLE justifications (
  id BLOB PRIMARY KEY,
  consequent BLOB NOT NULL REFERENCES beliefs (id),
  ins BLOB NOT NULL,
  outs BLOB NOT NULL,
  source TEXT NOT NULL,
  is_live INTEGER NOT NULL CHECK (is_live IN (0, 1))
) STRICT, WITHOUT ROWID;
CREATE INDEX justifications_by_consequent ON justifications (consequent, is_live);

-- Of live justifications: what names which belief.
CREATE TABLE rests_on (
  belief BLOB NOT NULL REFERENCES beliefs (id),
  justification BLOB NOT NULL REFERENCES justifications (id),
  consequent BLOB NOT NULL,
  PRIMARY KEY (belief, justification)
) STRICT, WITHOUT ROWID;

CREATE TABLE contradictions (
  id BLOB PRIMARY KEY,
  members BLOB NOT NULL,
  victim BLOB REFERENCES beliefs (id),  -- NULL: all are core memories
  flag INTEGER NOT NULL CHECK (flag IN (0, 1, 2)),
  is_live INTEGER NOT NULL CHECK (is_live IN (0, 1))
) STRICT, WITHOUT ROWID;

-- Of live contradictions: who is in which.
CREATE TABLE contradicted_in (
  belief BLOB NOT NULL REFERENCES beliefs (id),
  contradiction BLOB NOT NULL REFERENCES contradictions (id),
  PRIMARY KEY (belief, contradiction)
) STRICT, WITHOUT ROWID;

CREATE TABLE supersessions (
  id BLOB PRIMARY KEY,
  newer BLOB NOT NULL REFERENCES beliefs (id),
  older BLOB NOT NULL REFERENCES beliefs (id),
  is_live INTEGER NOT NULL CHECK (is_live IN (0, 1))
) STRICT, WITHOUT ROWID;
CREATE INDEX supersessions_by_newer ON supersessions (newer, is_live);
CREATE INDEX supersessions_by_older ON supersessions (older, is_live);

-- Names that don't count, recorded or not.
CREATE TABLE retractions (
  id BLOB PRIMARY KEY
) STRICT, WITHOUT ROWID;

-- A row says that the core memories are laid down: there will be no others.
CREATE TABLE core_is_laid_down (
  is_so INTEGER PRIMARY KEY CHECK (is_so = 1)
) STRICT;
