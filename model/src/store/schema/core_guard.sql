-- Core memories are guarded here, whatever a caller forgets.

CREATE TRIGGER core_stays BEFORE DELETE ON beliefs WHEN OLD.standing = 2
BEGIN SELECT RAISE(ABORT, 'a core memory stays'); END;

CREATE TRIGGER core_does_not_change BEFORE UPDATE ON beliefs
WHEN OLD.standing = 2
  AND (NEW.arrived, NEW.id, NEW.standing, NEW.asserted_ns, NEW.is_forgotten, NEW.label, NEW.support, NEW.taken, NEW.heir)
  IS NOT (OLD.arrived, OLD.id, 2, OLD.asserted_ns, 0, 1, 1, 1, NULL)
BEGIN SELECT RAISE(ABORT, 'a core memory does not change, and is in'); END;

CREATE TRIGGER core_is_laid_down_once BEFORE INSERT ON beliefs
WHEN (NEW.standing = 2 AND EXISTS (SELECT 1 FROM core_is_laid_down))
  OR EXISTS (SELECT 1 FROM beliefs WHERE standing = 2 AND (id = NEW.id OR arrived = NEW.arrived))
BEGIN SELECT RAISE(ABORT, 'core memories are laid down once'); END;

CREATE TRIGGER nothing_becomes_core BEFORE UPDATE OF standing ON beliefs WHEN NEW.standing = 2 AND OLD.standing <> 2
BEGIN SELECT RAISE(ABORT, 'core memories are laid down once'); END;

CREATE TRIGGER nothing_replaces_core BEFORE UPDATE OF arrived, id ON beliefs
WHEN EXISTS (SELECT 1 FROM beliefs WHERE standing = 2 AND arrived <> OLD.arrived AND (id = NEW.id OR arrived = NEW.arrived))
BEGIN SELECT RAISE(ABORT, 'a core memory stays'); END;

CREATE TRIGGER core_is_not_superseded BEFORE INSERT ON supersessions
WHEN (SELECT standing FROM beliefs WHERE id = NEW.older) = 2
BEGIN SELECT RAISE(ABORT, 'a core memory is not superseded'); END;

CREATE TRIGGER core_is_not_superseded_later BEFORE UPDATE OF older ON supersessions
WHEN (SELECT standing FROM beliefs WHERE id = NEW.older) = 2
BEGIN SELECT RAISE(ABORT, 'a core memory is not superseded'); END;

CREATE TRIGGER core_does_not_yield BEFORE INSERT ON contradictions
WHEN (SELECT standing FROM beliefs WHERE id = NEW.victim) = 2
BEGIN SELECT RAISE(ABORT, 'a core memory does not yield'); END;

CREATE TRIGGER core_does_not_yield_later BEFORE UPDATE OF victim ON contradictions
WHEN (SELECT standing FROM beliefs WHERE id = NEW.victim) = 2
BEGIN SELECT RAISE(ABORT, 'a core memory does not yield'); END;

CREATE TRIGGER the_core_stays_laid_down BEFORE DELETE ON core_is_laid_down
BEGIN SELECT RAISE(ABORT, 'core memories are laid down once'); END;
