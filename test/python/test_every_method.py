import methods


def test_is_called_or_has_a_reason():
    assert methods.without_a_test() == []


def test_no_reason_is_stale():
    assert methods.stale_reasons() == []
