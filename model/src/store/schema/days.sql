-- What agents that keep days have besides.

-- What agents noted down when they introspected or went to sleep.
CREATE TABLE memories (
  agent TEXT NOT NULL REFERENCES agents (name),
  number INTEGER NOT NULL,
  note TEXT NOT NULL,
  text TEXT NOT NULL,
  committed_ns INTEGER NOT NULL,
  PRIMARY KEY (agent, number, note)
) STRICT, WITHOUT ROWID;

-- Who is asleep, and the operation that closed its day. Waking removes the row.
CREATE TABLE sleeps (
  agent TEXT PRIMARY KEY REFERENCES agents (name),
  number INTEGER NOT NULL,
  slept_ns INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
