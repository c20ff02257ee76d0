"""Every answer that an API server gives, and what the portal makes of it."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kube import errors
from kube.classify import classify, split_problems


def status(code, message, reason="", **details):
    body = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure"}
    body |= {"message": message, "reason": reason, "code": code}
    if details:
        body["details"] = details
    return json.dumps(body).encode()


def classed(code, message, reason="", *, headers=None, wrote=True, **details):
    return classify(code, headers or {}, status(code, message, reason, **details), wrote=wrote)


def hook(name, text):
    return f'admission webhook "{name}" denied the request: {text}'


LENDING = (
    "spec.resourceGroups[0].flavors[0].resources[0].lendingLimit: "
    'Invalid value: "4": must be nil when cohort is empty'
)
DUPLICATES = (
    '[spec.resourceGroups[1].coveredResources[0]: Duplicate value: "nvidia.com/gpu", '
    'spec.resourceGroups[1].flavors[0].name: Duplicate value: "f-gpu"]'
)
DIAL = (
    'Internal error occurred: failed calling webhook "mclusterqueue.kb.io": failed to call '
    'webhook: Post "https://localhost:1/mutate?timeout=10s": dial tcp 127.0.0.1:1: connect: '
    "connection refused"
)


def test_field_conflict_names_manager_and_field():
    error = classed(
        409,
        'Apply failed with 2 conflicts: conflict with "kubectl-edit" using kueue.x-k8s.io/v1beta2:'
        '\n- .spec.resourceGroups\nconflict with "portal-quota": .spec.stopPolicy',
        "Conflict",
        causes=[
            {
                "reason": "FieldManagerConflict",
                "message": 'conflict with "kubectl-edit" using kueue.x-k8s.io/v1beta2',
                "field": ".spec.resourceGroups",
            },
            {
                "reason": "FieldManagerConflict",
                "message": 'conflict with "portal-quota"',
                "field": ".spec.stopPolicy",
            },
            {"reason": "SomethingElse", "message": "not about an owner", "field": ".spec.cohort"},
        ],
    )
    assert type(error) is errors.FieldConflict
    assert error.conflicts == (
        errors.Owner("kubectl-edit", ".spec.resourceGroups"),
        errors.Owner("portal-quota", ".spec.stopPolicy"),
    )
    assert error.field_problems()[0] == ("spec.resourceGroups", "owned by kubectl-edit")
    assert "\n" not in error.message
    assert not error.retry


def test_uid_of_a_deleted_object():
    error = classed(
        409,
        'Operation cannot be fulfilled on clusterqueues.kueue.x-k8s.io "e1": uid mismatch: the '
        "provided object specified uid 546ee240, and no existing object was found",
        "Conflict",
        name="e1",
        group="kueue.x-k8s.io",
        kind="clusterqueues",
    )
    assert type(error) is errors.UidMismatch


def test_uid_of_an_object_made_anew():
    cause = {
        "reason": "FieldValueInvalid",
        "message": 'Invalid value: "1111": field is immutable',
        "field": "metadata.uid",
    }
    error = classed(422, "...", "Invalid", name="e1", kind="ClusterQueue", causes=[cause, cause])
    assert type(error) is errors.UidMismatch


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (
            'Operation cannot be fulfilled on clusterqueues.kueue.x-k8s.io "e1": the object has '
            "been modified; please apply your changes to the latest version and try again",
            "Conflict",
        ),
        ('namespaces "x" already exists', "AlreadyExists"),
    ],
)
def test_modified(text, reason):
    assert type(classed(409, text, reason, name="e1")) is errors.Modified


def test_schema_refusal_drops_the_note_about_skipped_rules():
    causes = [
        {
            "reason": "FieldValueInvalid",
            "message": "Invalid value: flavors must have the same number of resources",
            "field": "spec.resourceGroups[0]",
        },
        {
            "reason": "FieldValueInvalid",
            "message": "Invalid value: null: some validation rules were not checked because the "
            "object was invalid; correct the existing errors to complete validation",
            "field": "<nil>",
        },
    ]
    error = classed(422, "x" * 20_000, "Invalid", kind="ClusterQueue", name="e1", causes=causes)
    assert type(error) is errors.SchemaRefused
    assert [field for field, _ in error.field_problems()] == ["spec.resourceGroups[0]"]
    assert len(error.message) < 300


def test_missing_field_manager_is_a_defect_of_ours():
    error = classed(
        422,
        'PatchOptions.meta.k8s.io "" is invalid: fieldManager: Required value: is required',
        "Invalid",
        kind="PatchOptions",
    )
    assert type(error) is errors.ProgrammingError


@pytest.mark.parametrize(
    ("text", "problems"),
    [
        (
            LENDING,
            [
                (
                    "spec.resourceGroups[0].flavors[0].resources[0].lendingLimit",
                    'Invalid value: "4": must be nil when cohort is empty',
                )
            ],
        ),
        (
            DUPLICATES,
            [
                (
                    "spec.resourceGroups[1].coveredResources[0]",
                    'Duplicate value: "nvidia.com/gpu"',
                ),
                ("spec.resourceGroups[1].flavors[0].name", 'Duplicate value: "f-gpu"'),
            ],
        ),
        (
            'metadata.labels[kueue.x-k8s.io/queue-name]: Invalid value: "zz": field is immutable',
            [
                (
                    "metadata.labels[kueue.x-k8s.io/queue-name]",
                    'Invalid value: "zz": field is immutable',
                )
            ],
        ),
        (
            'spec.x: Invalid value: "a, spec.y: Invalid value: 1": name part must consist of '
            "alphanumeric characters, '-', '_' or '.', and must start with one",
            [
                (
                    "spec.x",
                    'Invalid value: "a, spec.y: Invalid value: 1": name part must consist of '
                    "alphanumeric characters, '-', '_' or '.', and must start with one",
                )
            ],
        ),
        (
            r'spec.x: Invalid value: "a\", spec.y: Invalid value: 1": too long, spec.z: Required value',
            [
                ("spec.x", r'Invalid value: "a\", spec.y: Invalid value: 1": too long'),
                ("spec.z", "Required value"),
            ],
        ),
        ("only words", [("", "only words")]),
        ("", []),
    ],
)
def test_webhook_refusal_is_mapped_to_fields(text, problems):
    error = classed(403, hook("vclusterqueue.kb.io", text), "Forbidden")
    assert type(error) is errors.WebhookRefused
    assert error.webhook == "vclusterqueue.kb.io"
    assert error.field_problems() == problems


def test_webhook_that_cannot_read_the_object_answers_400():
    text = "quantities must match the regular expression '^([+-]?[0-9.]+)'"
    error = classed(400, hook("mclusterqueue.kb.io", text), "BadRequest")
    assert type(error) is errors.WebhookRefused
    assert error.field_problems() == [("", text)]


POLICY = (
    "jobs.batch \"b2\" is forbidden: ValidatingAdmissionPolicy 'p-wpc' with binding 'p-wpc' "
    "denied request: priority class p-high is not granted to this namespace (granted: p-low)"
)


@pytest.mark.parametrize("code", [403, 422])
def test_policy_refusal(code):
    error = classed(code, POLICY, "Invalid", causes=[{"message": POLICY}])
    assert type(error) is errors.PolicyRefused
    assert (error.policy, error.binding) == ("p-wpc", "p-wpc")
    assert error.reason.startswith("priority class p-high")


def test_other_admission_plugins_are_no_missing_right():
    error = classed(403, 'pods "x" is forbidden: exceeded quota: q, requested: pods=1', "Forbidden")
    assert type(error) is errors.PolicyRefused


def test_missing_right_is_named():
    error = classed(
        403,
        'localqueues.kueue.x-k8s.io "same" is forbidden: User "alice" cannot patch resource '
        '"localqueues" in API group "kueue.x-k8s.io" in the namespace "vb"',
        "Forbidden",
    )
    assert type(error) is errors.Forbidden
    assert (error.user, error.verb) == ("alice", "patch")
    assert error.resource == "localqueues.kueue.x-k8s.io"
    assert error.namespace == "vb"


def test_namespace_that_is_being_deleted():
    error = classed(
        403,
        'localqueues.kueue.x-k8s.io "q" is forbidden: unable to create new content in namespace '
        "x because it is being terminated",
        "Forbidden",
        causes=[{"reason": "NamespaceTerminating", "message": "namespace x is being terminated"}],
    )
    assert type(error) is errors.Terminating


@pytest.mark.parametrize(
    "text",
    [
        "failed to create typed patch object (/e1; kueue.x-k8s.io/v1beta2, Kind=ClusterQueue): "
        ".spec.cohort: field not declared in schema",
        "failed to create typed patch object (/e1; kueue.x-k8s.io/v1beta2, Kind=ClusterQueue): "
        '.spec.resourceGroups[0].flavors: duplicate entries for key [name="f-gpu"]',
    ],
)
def test_typed_patch_is_never_tried_again(text):
    error = classed(500, text)
    assert type(error) is errors.ProgrammingError
    assert not error.retry
    assert not error.outcome_unknown
    assert error.field_problems()[0][0].startswith("spec.")


@pytest.mark.parametrize(
    "text", [DIAL, "conversion webhook for kueue.x-k8s.io/v1beta2, Kind=ClusterQueue failed: Post"]
)
def test_webhook_down_is_tried_again(text):
    error = classed(500, text, "InternalError")
    assert type(error) is errors.WebhookDown
    assert error.retry
    assert not error.outcome_unknown


@pytest.mark.parametrize(
    ("code", "text"),
    [
        (500, "etcdserver: request timed out"),
        (502, "bad gateway"),
        (503, "error trying to reach service: dial tcp 127.0.0.1:1: connect: connection refused"),
        (504, "Timeout: request did not complete within requested timeout"),
    ],
)
def test_trouble_of_the_cluster(code, text):
    written = classify(code, {}, text.encode(), wrote=True)
    read = classify(code, {}, text.encode())
    assert type(written) is errors.Unavailable
    assert written.retry
    assert written.outcome_unknown
    assert not read.outcome_unknown
    assert text in read.message


@pytest.mark.parametrize(
    ("code", "text", "details", "kind"),
    [
        (404, 'namespaces "no" not found', {"name": "no", "kind": "namespaces"}, "ns"),
        (404, 'clusterqueues "e1" not found', {"name": "e1", "kind": "clusterqueues"}, "object"),
        (404, 'clusterqueue.visibility.kueue.x-k8s.io "q" not found', {}, "object"),
        (404, "the server could not find the requested resource", {}, "kind"),
    ],
)
def test_three_meanings_of_404(code, text, details, kind):
    expected = {
        "ns": errors.NamespaceMissing,
        "object": errors.NotFound,
        "kind": errors.KindMissing,
    }
    assert type(classed(code, text, "NotFound", **details)) is expected[kind]


def test_404_of_an_unknown_group_is_plain_text():
    assert type(classify(404, {}, b"404 page not found\n")) is errors.KindMissing


@pytest.mark.parametrize(
    ("headers", "details", "seconds"),
    [
        ({"Retry-After": "7"}, {}, 7.0),
        ({}, {"retryAfterSeconds": 3}, 3.0),
        ({"Retry-After": "Wed, 21 Oct 2026 07:28:00 GMT"}, {}, None),
        ({"Retry-After": "-1"}, {}, None),
        ({"Retry-After": "nan"}, {}, None),
    ],
)
def test_throttled(headers, details, seconds):
    error = classed(429, "too many requests", headers=headers, **details)
    assert type(error) is errors.Throttled
    assert error.retry_after == seconds
    assert error.retry


def test_positions_that_are_gone_or_from_the_future():
    assert type(classed(410, "The resourceVersion for the provided list is too old.")) is (
        errors.Gone
    )
    cause = {"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}
    error = classed(504, "Timeout: Too large resource version: 9, current: 8", causes=[cause])
    assert type(error) is errors.Gone


def test_unauthorized():
    error = classed(401, "Unauthorized", "Unauthorized")
    assert type(error) is errors.Credential
    assert not error.retry


def test_strict_decoding_names_the_field():
    error = classed(
        400,
        'ClusterQueue in version "v1beta2" cannot be handled as a ClusterQueue: strict decoding '
        'error: unknown field "spec.cohort"',
        "BadRequest",
    )
    assert type(error) is errors.ProgrammingError
    assert error.field_problems() == [("spec.cohort", "unknown field")]


@pytest.mark.parametrize("code", [400, 405, 406, 413, 415, 418])
def test_other_client_errors(code):
    assert type(classed(code, "no")) is errors.BadRequest


def test_redirects_are_not_followed():
    error = classify(302, {"Location": "https://169.254.169.254/"}, b"")
    assert type(error) is errors.Protocol
    assert not error.retry


@pytest.mark.parametrize(
    ("phase", "wrote", "expected", "retry"),
    [
        ("connect", True, errors.Unreachable, True),
        ("tls", True, errors.TlsError, False),
        ("sent", True, errors.Unknown, False),
        ("sent", False, errors.Unreachable, True),
        ("body", True, errors.Unknown, False),
        ("body", False, errors.Protocol, True),
    ],
)
def test_no_answer(phase, wrote, expected, retry):
    error = classify(None, {}, b"because", wrote=wrote, phase=phase)
    assert type(error) is expected
    assert error.retry is retry
    assert error.outcome_unknown is (expected is errors.Unknown)


def test_html_of_a_gateway_is_not_shown():
    error = classify(503, {}, b"<html><script>alert(1)</script></html>")
    assert error.message == "HTTP 503 without a readable reason"


@given(
    st.integers(300, 599),
    st.binary(max_size=300)
    | st.text(max_size=200).map(lambda text: status(400, text, text, causes=[{"message": text}])),
    st.booleans(),
)
def test_any_answer_becomes_an_error_with_a_safe_message(code, body, wrote):
    error = classify(code, {}, body, wrote=wrote)
    assert isinstance(error, errors.ClusterError)
    assert error.message.isprintable()
    assert len(error.message.encode()) <= errors.MESSAGE_LIMIT


@given(st.text(alphabet='[]",: abc.\\Invalid value', max_size=200))
def test_no_text_of_a_webhook_breaks_the_reader(text):
    assert isinstance(split_problems(text), tuple)


def test_a_hostile_field_path_is_read_in_linear_time():
    assert split_problems("a" + "[]" * 20_000 + "[" * 20_000)
