import methods


def test_is_called_or_has_a_reason():
    missing = methods.all_methods() - methods.called_methods() - set(methods.NOT_CALLED)
    assert sorted(missing) == []


def test_no_reason_is_stale():
    stale = set(methods.NOT_CALLED) - methods.all_methods() | set(methods.NOT_CALLED) & (
        methods.called_methods()
    )
    assert sorted(stale) == []
