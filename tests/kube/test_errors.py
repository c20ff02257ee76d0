"""What every error of a cluster promises."""

from kube import errors


def test_codes_are_unique_and_documented_in_order():
    codes = [error.code for error in errors.ERRORS]
    assert len(set(codes)) == len(codes)
    assert codes == sorted(codes)
    assert all(code.startswith("GP-31") for code in codes)


def test_the_list_of_classes_is_complete():
    found, todo = set(), [errors.ClusterError]
    while todo:
        kind = todo.pop()
        found.add(kind)
        todo.extend(kind.__subclasses__())
    assert {kind for kind in found if kind.__module__ == "kube.errors"} == set(errors.ERRORS)


def test_messages_are_one_line_without_tokens_or_direction_marks():
    text = errors.one_line("a\r\nb\x00c \u202eevil Bearer abc.def eyJhbGciOiJSUzI1NiJ9.x.y end")
    assert text == "a b c \\u202eevil Bearer *** *** end"


def test_long_messages_are_cut_at_a_character():
    text = errors.one_line("ä" * 5000)
    assert len(text.encode()) <= errors.MESSAGE_LIMIT
    assert text.endswith(" ...")


def test_the_code_stands_in_front_of_the_text():
    assert str(errors.NotFound("no such queue")) == "GP-3113 no such queue"
