from __future__ import annotations

from detector.recalled import MOST, recalled


def test_result_is_worked_out_once_for_an_object_and_anew_for_an_equal_one() -> None:
    asked: list[tuple[int, ...]] = []

    @recalled
    def total(numbers: tuple[int, ...]) -> int:
        asked.append(numbers)
        return sum(numbers)

    one, other = tuple(range(1, 3)), tuple(range(1, 3))
    assert [total(one), total(one), total(other), total(one)] == [3, 3, 3, 3]
    assert len(asked) == 2


def test_many_objects_come_and_go_and_each_has_its_own_result() -> None:
    @recalled
    def total(numbers: tuple[int, ...]) -> int:
        return sum(numbers)

    assert [total((number, number)) for number in range(3 * MOST)] == [2 * number for number in range(3 * MOST)]
