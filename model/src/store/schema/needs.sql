-- What a task needs: these must be done before it is claimed. There is no cycle in it: whoever writes looks first, in the same transaction.
CREATE TABLE needs (
  task TEXT NOT NULL REFERENCES tasks (name),
  needed TEXT NOT NULL REFERENCES tasks (name),
  PRIMARY KEY (task, needed)
) STRICT, WITHOUT ROWID;
