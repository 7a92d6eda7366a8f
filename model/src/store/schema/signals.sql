-- Agents that exchange signals. A member's number stands for it in clocks; its incarnation is that of its agent's last life that took part.
CREATE TABLE members (
  member INTEGER PRIMARY KEY,
  agent TEXT NOT NULL UNIQUE REFERENCES agents (name),
  incarnation INTEGER NOT NULL CHECK (incarnation > 0),
  counter INTEGER NOT NULL CHECK (counter > 0),  -- the life's last event
  sequence INTEGER NOT NULL,  -- the life's last signal
  operation INTEGER NOT NULL,  -- the agent's last operation that is done, over all its lives
  queued INTEGER NOT NULL CHECK (queued >= 0),  -- signals in its queue
  is_finished INTEGER NOT NULL
) STRICT;

-- Clocks: the rows of a member together are its clock. Its first row is a snapshot, the others say what has risen since.
CREATE TABLE clock_journal (
  member INTEGER NOT NULL REFERENCES members (member),
  number INTEGER NOT NULL,
  clock BLOB NOT NULL,
  PRIMARY KEY (member, number)
) STRICT, WITHOUT ROWID;

-- Clocks that were refused. Whoever has one here begins no life.
CREATE TABLE refused_clocks (
  member INTEGER NOT NULL REFERENCES members (member),
  number INTEGER NOT NULL,
  clock BLOB NOT NULL,
  why TEXT NOT NULL,
  refused_ns INTEGER NOT NULL,
  PRIMARY KEY (member, number)
) STRICT, WITHOUT ROWID;

-- Lives that are over, with their last event, and who has all that happened in them.
CREATE TABLE lives_over (
  member INTEGER NOT NULL REFERENCES members (member),
  incarnation INTEGER NOT NULL,
  counter INTEGER NOT NULL,
  PRIMARY KEY (member, incarnation)
) STRICT, WITHOUT ROWID;
CREATE TABLE lives_known (
  member INTEGER NOT NULL,
  incarnation INTEGER NOT NULL,
  known_by INTEGER NOT NULL REFERENCES members (member),
  PRIMARY KEY (member, incarnation, known_by),
  FOREIGN KEY (member, incarnation) REFERENCES lives_over (member, incarnation)
) STRICT, WITHOUT ROWID;

-- Signals that somebody has yet to acknowledge. Their numbers rise in the order of the transactions that sent them.
CREATE TABLE signals (
  number INTEGER PRIMARY KEY,
  sender INTEGER NOT NULL REFERENCES members (member),
  incarnation INTEGER NOT NULL,
  sequence INTEGER NOT NULL,
  answer_by INTEGER NOT NULL,  -- the member that is asked for an answer; 0 is none
  clock BLOB NOT NULL,
  content BLOB NOT NULL,
  waiting INTEGER NOT NULL CHECK (waiting >= 0)  -- recipients that have yet to acknowledge it
) STRICT;

-- One row for each recipient of a signal, until it acknowledges.
CREATE TABLE signal_queue (
  recipient INTEGER NOT NULL REFERENCES members (member),
  signal INTEGER NOT NULL,
  sender INTEGER NOT NULL,
  incarnation INTEGER NOT NULL,
  sequence INTEGER NOT NULL,
  counter INTEGER NOT NULL,  -- the sending's event in the sender's clock
  PRIMARY KEY (recipient, signal)
) STRICT, WITHOUT ROWID;

-- By recipient and life of a sender: the last signal that was acknowledged. Those of one sender are delivered in its order.
CREATE TABLE signals_seen (
  recipient INTEGER NOT NULL REFERENCES members (member),
  sender INTEGER NOT NULL,
  incarnation INTEGER NOT NULL,
  sequence INTEGER NOT NULL,
  PRIMARY KEY (recipient, sender, incarnation)
) STRICT, WITHOUT ROWID;

-- What signals have done to their recipients: how many there were, and a digest of what they said, in order.
CREATE TABLE signal_effects (
  recipient INTEGER NOT NULL REFERENCES members (member),
  sender INTEGER NOT NULL,
  incarnation INTEGER NOT NULL,
  signals INTEGER NOT NULL,
  digest INTEGER NOT NULL,
  PRIMARY KEY (recipient, sender, incarnation)
) STRICT, WITHOUT ROWID;

-- Answers that a member has yet to send.
CREATE TABLE answers_owed (
  member INTEGER NOT NULL REFERENCES members (member),
  sender INTEGER NOT NULL REFERENCES members (member),
  incarnation INTEGER NOT NULL,
  sequence INTEGER NOT NULL,
  PRIMARY KEY (member, sender, incarnation, sequence)
) STRICT, WITHOUT ROWID;

-- When each member sent its last signals, as many as the rate limit counts.
CREATE TABLE sends (
  member INTEGER NOT NULL REFERENCES members (member),
  slot INTEGER NOT NULL,
  sent_ns INTEGER NOT NULL,
  PRIMARY KEY (member, slot)
) STRICT, WITHOUT ROWID;
