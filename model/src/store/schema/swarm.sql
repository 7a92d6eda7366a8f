-- What every swarm has: agents, the board, tasks, notes, operations that have taken effect.
--
-- Identities and random tokens are 64-bit numbers without a sign; SQLite's integers have one. They are stored bit for bit.

CREATE TABLE agents (
  name TEXT PRIMARY KEY,
  status TEXT NOT NULL CHECK (status IN ('active', 'stopped')),
  pid INTEGER NOT NULL,
  started_ns INTEGER NOT NULL,
  boot_id INTEGER NOT NULL,
  incarnation INTEGER NOT NULL CHECK (incarnation > 0),
  seen_ns INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- The board. Version 0: nobody has written the key yet.
CREATE TABLE session_state (
  key TEXT PRIMARY KEY,
  value TEXT NOT NULL,
  version INTEGER NOT NULL CHECK (version >= 0),
  updated_by TEXT REFERENCES agents (name),
  updated_number INTEGER,
  updated_ns INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE tasks (
  name TEXT PRIMARY KEY,
  state TEXT NOT NULL CHECK (state IN ('open', 'claimed', 'done')),
  generation INTEGER NOT NULL CHECK (generation >= 0),
  holder TEXT REFERENCES agents (name),
  token INTEGER,
  expires_ns INTEGER,
  CHECK ((state = 'claimed') = (holder IS NOT NULL)),
  CHECK ((state = 'claimed') = (token IS NOT NULL)),
  CHECK ((state = 'claimed') = (expires_ns IS NOT NULL))
) STRICT, WITHOUT ROWID;

CREATE TABLE checklist (
  task TEXT NOT NULL REFERENCES tasks (name),
  item INTEGER NOT NULL,
  generation INTEGER,  -- of the claim under which it was ticked; NULL is not ticked
  PRIMARY KEY (task, item)
) STRICT, WITHOUT ROWID;

CREATE TABLE notes (
  id INTEGER PRIMARY KEY,
  agent TEXT NOT NULL REFERENCES agents (name),
  number INTEGER NOT NULL,
  text TEXT NOT NULL,
  written_ns INTEGER NOT NULL
) STRICT;

-- Operations that have taken effect, and what they did: whoever doesn't know what became of one looks here. In the same transaction as the effect.
CREATE TABLE applied (
  agent TEXT NOT NULL REFERENCES agents (name),
  number INTEGER NOT NULL,
  effect TEXT NOT NULL,  -- JSON
  asked INTEGER NOT NULL,
  applied_ns INTEGER NOT NULL,
  PRIMARY KEY (agent, number)
) STRICT, WITHOUT ROWID;
