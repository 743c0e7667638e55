"""Given the log a launcher keeps of its cards, when it is read, then a few samples of each stay."""

from __future__ import annotations

from pdtriage.model import CardSample, LogFile
from pdtriage.scan import side_facts
from pdtriage.scan.launcher_output import MOST_CARDS, MOST_SAMPLES, card_samples

HEAD = b"""index,uuid,driver_version,name,gpu_serial,display_active,display_mode
0,GPU-1,550.54,NVIDIA A100-SXM4-40GB,[N/A],Disabled,Enabled

pid,process_name,gpu_uuid,gpu_name,used_memory
4711,python,GPU-1,NVIDIA A100-SXM4-40GB,3012

index,utilization_gpu,memory_total,memory_used,memory_free,timestamp
"""


def test_lines_of_both_launchers() -> None:
    text = HEAD + (
        b"0,97,40960,31000,9960,2024/01/01 12:00:00.123\n"
        b"1, 3, 40960, 12, 40948, 2024/01/01 12:00:05.001\n"
        b"0,96,32150,3215.0,28935.0,2024-01-01 12:00:10\n"
    )
    assert card_samples(text) == (
        CardSample(1704110400.0, 0, 97, 31000, 40960),
        CardSample(1704110405.0, 1, 3, 12, 40960),
        CardSample(1704110410.0, 0, 96, 3215, 32150),
    )


def test_of_a_long_log_the_ends_and_the_fullest_moment_stay() -> None:
    lines = [
        f"0,50,40960,{40000 if n == 777 else 1000},1,2024/01/01 {n // 3600:02}:{n // 60 % 60:02}"
        f":{n % 60:02}.000"
        for n in range(0, 7200, 7)
    ]
    samples = card_samples(HEAD + "\n".join(lines).encode())
    assert len(samples) <= MOST_SAMPLES
    assert samples[0].time % 86_400 == 0
    assert samples[-1].time % 86_400 == range(0, 7200, 7)[-1]
    assert max(sample.used_mb for sample in samples) == 40000


def test_what_is_no_sample_is_left_out() -> None:
    hostile = b"0,101,1,1,1,2024/01/01 00:00:00\n0,5,1,1,1,2024/13/01 00:00:00\n\xff\xfe,,,\n"
    many = b"".join(b"%d,1,9,3,6,2024/01/01 00:00:00\n" % card for card in range(500))
    assert card_samples(HEAD + hostile) == ()
    assert len({sample.card for sample in card_samples(many)}) == MOST_CARDS


def test_it_is_read_as_a_small_file_beside_the_logs() -> None:
    file = LogFile("log/default.gpu.log", "gpu", "log")
    facts = side_facts(file, HEAD + b"0,97,40960,31000,9960,2024/01/01 12:00:00.123\n")
    assert [sample.used_mb for sample in facts.cards] == [31000]
    assert facts.notes == ()
