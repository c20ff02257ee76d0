"""The objects of one apply: compared, tried, written in waves, read back."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Any, Final

from django.db import transaction
from django.db.models.functions import Now

from kube import errors, keys
from kube.client import ClusterClient
from queues.faultpoints import faultpoint
from queues.models import Apply, ObjectResult, PlanObject
from queues.services import live, outcome, touch
from queues.services.leases import Lease
from queues.services.live import Judgement, Verdict, ref_of
from queues.services.writer import Writer
from tenants.models import Cluster
from tenants.models.states import moved

State = Apply.State
Result = ObjectResult.State

MANAGER: Final = keys.FIELD_MANAGER_QUOTA
#: How often one object is compared and written again because its version moved meanwhile.
SAME_OBJECT_TRIES: Final = 5

#: What ends an apply when nothing has been written: the gravest result decides.
ENDS: Final = (
    (Result.CONFLICT, State.CONFLICT, "GP-4403"),
    (Result.STALE, State.STALE, "GP-4401"),
    (Result.REFUSED, State.STUCK, "GP-4404"),
)


class WritingOff(errors.ClusterError):
    """An administrator has switched writing off while an apply was under way."""

    code = "GP-4407"
    retry = True


class Applying:
    """One attempt at one apply."""

    def __init__(self, lease: Lease[Apply], writer: Writer, client: ClusterClient) -> None:
        """Load what was planned and what earlier attempts have recorded."""
        self.lease = lease
        self.row = lease.row
        self.writer = writer
        self.client = client
        self.revision = self.row.revision.number
        self.objects = list(self.row.plan.planned.order_by("position"))
        self.results = {result.object_id: result for result in self.row.results.all()}
        self.judged: dict[int, Judgement] = {}
        self.tried: set[int] = set()
        self.written = 0

    def run(self) -> None:
        """Do everything; every way out has recorded what it found."""
        todo = [each for each in self.objects if not self._done(each)]
        self._survey(todo)
        if self._stopped():
            return
        writes = [each for each in todo if not self._done(each)]
        self._probe([each for each in writes if not self._waits_for_namespace(each, writes)])
        if self._stopped():
            return
        self._write_waves(writes)
        if self._stopped():
            return
        self._read_back()
        if self._stopped():
            return
        touch.left_behind(self.row, self.client, self._step)
        outcome.finish(self.lease, State.SUCCEEDED)

    # -- compare ---------------------------------------------------------------------------

    def _survey(self, todo: Sequence[PlanObject]) -> None:
        """Read every object; record what needs no write and what no longer fits the plan."""
        for planned in todo:
            self._step()
            judgement = self._look(planned)
            if judgement.verdict == Verdict.FOUND:
                self._record_found(planned, judgement)
            elif judgement.verdict == Verdict.STALE:
                self._record_stale(planned, judgement)

    def _look(self, planned: PlanObject) -> Judgement:
        found = self.client.get(ref_of(planned))
        if live.is_terminating(found):
            message = f"{ref_of(planned)} is being deleted; waiting until it is gone"
            raise errors.Terminating(message)
        judgement = live.judge(planned, found, self.revision)
        self.judged[planned.pk] = judgement
        return judgement

    # -- try -------------------------------------------------------------------------------

    def _waits_for_namespace(self, planned: PlanObject, writes: Sequence[PlanObject]) -> bool:
        """Tell whether the object's namespace is made by this very apply."""
        made = {
            each.name
            for each in writes
            if each.kind == "Namespace" and self.judged[each.pk].live is None
        }
        return planned.namespace in made

    def _probe(self, writes: Sequence[PlanObject]) -> None:
        """Dry-run everything that can be tried, before anything is written."""
        for planned in writes:
            self._step()
            try:
                self._send(planned, self.judged[planned.pk], dry_run=True)
            except errors.NamespaceMissing:
                continue
            except errors.ClusterError as error:
                if outcome.can_wait(error):
                    raise
                self._record_failure(planned, error)
            self.tried.add(planned.pk)

    def _send(self, planned: PlanObject, judgement: Judgement, *, dry_run: bool = False) -> Any:
        # Status changes move the version all the time, so a mere trial does not name it.
        version = "" if dry_run else judgement.version
        return self.client.apply(
            live.stamped(
                planned.wanted,
                revision=self.revision,
                plan=self.row.plan.digest,
                version=version,
            ),
            manager=MANAGER,
            dry_run=dry_run,
            uid=judgement.uid,
            force=self.row.force and planned.tried == PlanObject.Tried.CONFLICT,
        )

    # -- write -----------------------------------------------------------------------------

    def _write_waves(self, writes: Sequence[PlanObject]) -> None:
        for _wave, group in groupby(writes, key=lambda each: each.wave):
            members = list(group)
            self._probe([each for each in members if each.pk not in self.tried])
            if self._failed():
                return
            for planned in members:
                if self.written:
                    faultpoint(f"between_objects:{self.written}")
                if not self._write(planned):
                    return

    def _write(self, planned: PlanObject) -> bool:
        """Write one object and record it; ``False`` when the apply must stop here."""
        judgement = self.judged[planned.pk]
        for _again in range(SAME_OBJECT_TRIES):
            if judgement.verdict != Verdict.WRITE:
                break
            self._step()
            faultpoint("before_apply")
            try:
                applied = self._send(planned, judgement)
            except errors.Modified:
                judgement = self._look(planned)
                continue
            except errors.ClusterError as error:
                return self._write_failed(planned, error)
            faultpoint("after_apply_before_record")
            self._record_applied(planned, applied.uid, applied.resource_version)
            self.written += 1
            faultpoint("after_commit")
            return True
        return self._not_written(planned, judgement)

    def _not_written(self, planned: PlanObject, judgement: Judgement) -> bool:
        """Record what a second look has shown, after the object's version had moved."""
        if judgement.verdict == Verdict.FOUND:
            self._record_found(planned, judgement)
            return True
        reason = judgement.reason or "it changes faster than it can be written"
        self._record_stale(planned, Judgement(Verdict.STALE, judgement.live, reason))
        return False

    def _write_failed(self, planned: PlanObject, error: errors.ClusterError) -> bool:
        if error.outcome_unknown:
            return self._after_lost_answer(planned, error)
        if outcome.can_wait(error):
            raise error
        self._record_failure(planned, error)
        return False

    def _after_lost_answer(self, planned: PlanObject, error: errors.ClusterError) -> bool:
        """Say "unknown" first, then read back; what is not there yet is left to the next try."""
        self._record(planned, Result.UNKNOWN, message=error.message, code=error.code)
        self._step()
        judgement = self._look(planned)
        if judgement.verdict == Verdict.WRITE:
            raise error
        if judgement.verdict == Verdict.STALE:
            self._record_stale(planned, judgement)
            return False
        self._record_applied(
            planned,
            judgement.uid or "",
            judgement.version,
            message="the answer was lost; read back and found as wanted",
        )
        return True

    # -- read back -------------------------------------------------------------------------

    def _read_back(self) -> None:
        """Compare what was written with what the cluster has made of it."""
        for planned in self.objects:
            if self.results[planned.pk].state != Result.APPLIED:
                continue
            self._step()
            found = self.client.get(ref_of(planned))
            if found is None or live.is_terminating(found):
                message = "it was deleted right after it was written"
                self._record(planned, Result.CHANGED, message=message, code="GP-4406")
                continue
            changes = live.differences(found, planned.wanted)
            if changes:
                # ``before`` is what is there, ``after`` what was sent.
                told = "; ".join(
                    f"{each.path}: sent {each.after}, found {each.before}" for each in changes[:4]
                )
                self._record(
                    planned,
                    Result.CHANGED,
                    message=f"the cluster changed it after writing: {told}",
                    code="GP-4406",
                    found=live.told(changes),
                )

    # -- record ----------------------------------------------------------------------------

    def _step(self) -> None:
        """Make sure that this process may still act, and say that it is alive."""
        self.lease.beat()
        self.writer.check()
        if not Cluster.objects.filter(pk=self.row.cluster_id, writing=True).exists():
            message = "writing to this cluster has been switched off"
            raise WritingOff(message)

    def _record(self, planned: PlanObject, state: Result, **fields: Any) -> None:
        result = self.results[planned.pk]
        fields = {"message": "", "code": "", "fence": self.lease.fence, **fields}
        with transaction.atomic():
            self.lease.check()
            ObjectResult.objects.filter(pk=result.pk).update(state=state, at=Now(), **fields)
            moved.send(Apply, row=self.row)
        # A result has no machine of states: the row in memory follows the row in the database.
        for name, value in {"state": state, **fields}.items():
            setattr(result, name, value)

    def _record_applied(
        self, planned: PlanObject, uid: str, version: str, message: str = ""
    ) -> None:
        self._record(
            planned,
            Result.APPLIED,
            message=message,
            uid=uid,
            version_before=self.judged[planned.pk].version,
            resource_version=version,
            manager=MANAGER,
        )

    def _record_found(self, planned: PlanObject, judgement: Judgement) -> None:
        """What an earlier attempt wrote is ours; what was so before the plan was only found."""
        ours = judgement.live is not None and self._bears_our_stamp(judgement.live)
        state = Result.APPLIED if ours else Result.FOUND
        message = "written by an earlier attempt; found as wanted" if ours else ""
        self._record(
            planned,
            state,
            message=message,
            uid=judgement.uid or "",
            resource_version=judgement.version,
            manager=MANAGER if ours else "",
        )

    def _bears_our_stamp(self, found: dict[str, Any]) -> bool:
        marks = found["metadata"].get("annotations") or {}
        return bool(marks.get(keys.PLAN) == self.row.plan.digest)

    def _record_stale(self, planned: PlanObject, judgement: Judgement) -> None:
        changes = live.differences(judgement.live, planned.wanted) if judgement.live else []
        self._record(
            planned,
            Result.STALE,
            message=judgement.reason,
            code="GP-4401",
            found=live.told(changes),
            uid=judgement.uid or "",
            resource_version=judgement.version,
        )

    def _record_failure(self, planned: PlanObject, error: errors.ClusterError) -> None:
        facts: dict[str, Any] = {"message": error.message, "code": error.code}
        state = Result.REFUSED
        if isinstance(error, errors.FieldConflict):
            state = Result.CONFLICT
            facts |= self._conflict(planned, error)
        elif isinstance(error, errors.Conflict):
            state = Result.STALE
        facts["field_problems"] = [
            {"field": field, "text": text} for field, text in error.field_problems()
        ]
        self._record(planned, state, **facts)

    def _conflict(self, planned: PlanObject, error: errors.FieldConflict) -> dict[str, Any]:
        """Return both values, theirs as they are at this moment."""
        found = self.client.get(ref_of(planned))
        changes = live.differences(found, planned.wanted) if found else []
        return {
            "conflicts": live.conflicts(error, found, planned.wanted),
            "found": live.told(changes),
            "uid": str(found["metadata"]["uid"]) if found else "",
        }

    # -- end -------------------------------------------------------------------------------

    def _done(self, planned: PlanObject) -> bool:
        return self.results[planned.pk].state in (Result.APPLIED, Result.FOUND)

    def _failed(self) -> bool:
        bad = (Result.CONFLICT, Result.STALE, Result.REFUSED, Result.CHANGED)
        return any(result.state in bad for result in self.results.values())

    def _stopped(self) -> bool:
        """End the apply if an object cannot be brought to what was approved."""
        if not self._failed():
            return False
        states = [result.state for result in self.results.values()]
        end, code = State.PARTIAL, "GP-4406" if Result.CHANGED in states else "GP-4404"
        for state, to, its_code in ENDS:
            if state in states:
                code = its_code
                end = State.PARTIAL if outcome.written(self.row) else to
                break
        outcome.finish(self.lease, end, error=self._worst(), code=code)
        return True

    def _worst(self) -> str:
        """Return the first object that stopped the apply, in words."""
        for planned in self.objects:
            result = self.results[planned.pk]
            if result.state not in (Result.PENDING, Result.APPLIED, Result.FOUND):
                return f"{ref_of(planned)}: {result.message}"
        return ""
