-- The Merkle root after each transition, which is one more than the last. Only the newest top is of use; the roots are the history.
CREATE TABLE merkle_roots (
  transition INTEGER PRIMARY KEY CHECK (transition > 0),
  root BLOB NOT NULL CHECK (length(root) = 32),
  top BLOB,  -- its place; NULL: nothing is sealed
  memories INTEGER NOT NULL CHECK (memories >= 0),
  sealed_ns INTEGER NOT NULL
) STRICT;

-- What is sealed, by its digest, and the transition in which it was.
CREATE TABLE sealed_memories (
  digest BLOB PRIMARY KEY CHECK (length(digest) = 32),
  transition INTEGER NOT NULL REFERENCES merkle_roots (transition)
) STRICT, WITHOUT ROWID;

-- The nodes of the tree over them, each with what it knows of the two below it.
CREATE TABLE merkle_nodes (
  place BLOB PRIMARY KEY,  -- two bytes: how many bits; then the bits
  zero BLOB NOT NULL,
  zero_hash BLOB NOT NULL,
  one BLOB NOT NULL,
  one_hash BLOB NOT NULL
) STRICT, WITHOUT ROWID;

-- What was sealed stays: guarded here, so that no caller can forget it.
CREATE TRIGGER sealed_memories_stay BEFORE DELETE ON sealed_memories BEGIN SELECT RAISE(ABORT, 'a sealed memory stays'); END;
CREATE TRIGGER sealed_memories_dont_change BEFORE UPDATE ON sealed_memories BEGIN SELECT RAISE(ABORT, 'a sealed memory does not change'); END;
CREATE TRIGGER merkle_roots_stay BEFORE DELETE ON merkle_roots BEGIN SELECT RAISE(ABORT, 'a root stays'); END;
CREATE TRIGGER merkle_roots_dont_change BEFORE UPDATE ON merkle_roots BEGIN SELECT RAISE(ABORT, 'a root does not change'); END;
