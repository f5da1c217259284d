from pfid.policy.launch_environ import ALWAYS, VALUE_MAX_CHARS, launch_environ


def test_what_is_not_set_is_told_as_null():
    found = launch_environ({})
    assert set(found) == set(ALWAYS)
    assert set(found.values()) == {None}


def test_what_says_something_about_a_training_is_told_and_nothing_else():
    found = launch_environ({"NCCL_DEBUG": "INFO", "AWS_PROFILE": "me", "EDITOR": "vi"})
    assert found["NCCL_DEBUG"] == "INFO"
    assert not {"AWS_PROFILE", "EDITOR"} & set(found)


def test_a_name_that_the_spec_adds_is_always_told():
    assert launch_environ({}, ["OWN"])["OWN"] is None
    assert launch_environ({"OWN": "1"}, ["OWN"])["OWN"] == "1"


def test_secrets_among_them_are_masked():
    found = launch_environ({"HF_TOKEN": "x", "HF_ENDPOINT": "https://me:pw@hub", "MY_KEY": ""},
                           ["MY_KEY"])  # fmt: skip
    assert found["HF_TOKEN"] == "[masked]"
    assert found["HF_ENDPOINT"] == "https://[masked]@hub"
    assert found["MY_KEY"] == ""


def test_a_value_of_megabytes_is_cut():
    assert len(launch_environ({"PYTHONPATH": "x" * 10**6})["PYTHONPATH"]) == VALUE_MAX_CHARS
