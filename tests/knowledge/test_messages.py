"""Given lines that several signatures could claim, then the right one does."""

from __future__ import annotations

import pytest

from ..scan.builders import facts_of

REFUSED = "status:[-1] meets grpc error, error_code:14 error_message:Socket closed error_details:"


@pytest.mark.parametrize(
    ("line", "signature"),
    [
        ("CUBLAS_STATUS_SUCCESS == stat (0 vs. 13)", "device.check-failed"),
        ("stat == CUBLAS_STATUS_SUCCESS (7 vs. 0)", "device.check-failed"),
        ("CUDNN_STATUS_SUCCESS == cudnnStat (0 vs. 3)", "device.check-failed"),
        ("cudaSuccess == err (0 vs. 2)", "device.check-failed"),
        ("ncclSuccess == status (0 vs. 1)", "comm.nccl-error"),
        ("x == stat (0 vs. 13)", "crash.check-failed"),
    ],
)
def test_no_failed_check_of_native_code_is_lost(line: str, signature: str) -> None:
    (event,) = facts_of(f"F1023 11:12:13.141516  4242 x.h:77] Check failed: {line}\n").events
    assert event.signature == signature


def test_who_hands_out_the_id_of_nccl_is_no_client_of_a_parameter_server() -> None:
    line = (
        f"F1015 12:24:49.371834 27 grpc_client.cc:424] SendRPC name:[NCCLID], ep:[a:1], {REFUSED}\n"
    )
    assert [event.signature for event in facts_of(line).events] == ["comm.grpc-nccl-id"]
    line = line.replace("NCCLID", "fc_0.b_0")
    assert [event.signature for event in facts_of(line).events] == ["ps.grpc"]
