"""Roles, ids of users, and quotas."""

import pytest

from core.access import (
    DISK,
    GB,
    LOCAL,
    NEEDS,
    OWNER,
    Act,
    Quotas,
    UserRole,
    Visitor,
    group_id,
    of_process,
    refuse_over,
    user_id,
)
from core.errors import LibraryError, UsageError

ANNA = user_id("https://login.example", "anna")


def test_every_act_has_a_role_and_only_reading_is_for_viewers():
    assert set(NEEDS) == set(Act)
    assert {act for act in Act if Visitor(ANNA, UserRole.VIEWER).may(act)} == {Act.OPEN, Act.EXPORT}
    assert {act for act in Act if not Visitor(ANNA, UserRole.AUDITOR).may(act)} == {
        Act.QUEUE,
        Act.READ_TRAIL,
    }
    assert all(map(LOCAL.may, Act))


def test_an_act_beyond_the_role_is_refused_with_the_role_it_needs():
    with pytest.raises(LibraryError, match="Your role is viewer, and this needs auditor") as caught:
        Visitor(ANNA, UserRole.VIEWER).require(Act.DELETE)
    assert caught.value.code == "ROLE"


def test_ids_hold_no_name_and_tell_issuers_and_groups_apart():
    ids = {
        ANNA,
        user_id("https://other.example", "anna"),
        user_id("https://login.example", "anne"),
        group_id("https://login.example", "anna"),
    }
    assert len(ids) == 4
    assert not [name for name in ids if "anna" in name or "@" in name or len(name) != 34]


def test_who_sees_and_who_owns():
    group = group_id("https://login.example", "ward")
    anna = Visitor(ANNA, UserRole.AUDITOR, (group,))
    assert anna.owns(ANNA)
    assert anna.owns(group)
    assert not anna.sees("local")
    assert anna.sees("local", [group])
    assert not anna.owns("local")
    assert Visitor(ANNA, UserRole.ADMIN).owns("local")


def test_a_process_acts_for_the_owner_of_its_job(monkeypatch):
    assert of_process() == LOCAL
    monkeypatch.setenv(OWNER, ANNA)
    assert of_process().owner == ANNA


def test_a_quota_is_a_number_and_refuses_what_is_over_it(monkeypatch):
    assert Quotas.of_environment() == Quotas()
    monkeypatch.setenv(DISK, "0.5")
    quota = Quotas.of_environment().disk
    assert quota == GB // 2
    refuse_over(quota, GB // 4, GB // 4, "Your runs", "delete some")
    with pytest.raises(LibraryError, match="take 300 MB and this adds 300 MB; the quota is 500 MB"):
        refuse_over(quota, GB // 4 + 10**8 // 2, GB // 4 + 10**8 // 2, "Your runs", "delete some")
    monkeypatch.setenv(DISK, "a lot")
    with pytest.raises(UsageError, match="CANDOR_QUOTA_DISK_GB is 'a lot'"):
        Quotas.of_environment()
