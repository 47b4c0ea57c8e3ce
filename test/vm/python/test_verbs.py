# SPDX-License-Identifier: MIT
"""Memory regions of an RDMA adapter, made of arrays: peerpin.verbs with pyverbs."""
import errno
import gc

import numpy as np
import peerpin
import peerpin.verbs
import pytest

import gpu

device = pytest.importorskip("pyverbs.device", reason="no python3-pyverbs; type: apt-get install python3-pyverbs")
from pyverbs import enums  # noqa: E402
from pyverbs.pd import PD  # noqa: E402

MIB = 1 << 20
ACCESS = enums.IBV_ACCESS_LOCAL_WRITE | enums.IBV_ACCESS_REMOTE_READ | enums.IBV_ACCESS_REMOTE_WRITE


@pytest.fixture(autouse=True, scope="session")
def started():
    gpu.start()


@pytest.fixture(name="adapter")
def an_adapter():
    with device.Context(name="rxe0") as context:
        yield context


@pytest.fixture(name="pd")
def a_domain(adapter):
    with PD(adapter) as pd:
        yield pd
        gc.collect()


def ipv4_gid(adapter):
    """Return (index, GID) of the address 10.0.0.1."""
    for index in range(8):
        gid = adapter.query_gid(1, index)
        if ":ffff:0a00:0001" in str(gid):
            return index, gid
    raise AssertionError("no GID of 10.0.0.1")


def address_of(pd):
    """Return the struct ibv_pd of a PD: pyverbs 44 hands out the pointer as if it were an object."""
    return id(pd.pd)


def test_array_is_registered_in_one_call(pd):
    x = np.zeros(100000, dtype=np.uint8)
    with peerpin.verbs.register(pd, x, ACCESS) as mr:
        assert (mr.addr, mr.length, mr.way) == (x.ctypes.data, 100000, peerpin.verbs.Way.HOST)
        assert mr.lkey and mr.rkey and mr.mr.lkey == mr.lkey
    assert mr.closed


def test_collected_memory_regions_end(pd):
    peerpin.verbs.register(pd, np.zeros(10000), ACCESS)
    gc.collect()
    pd.close()  # raises if a memory region is left


def registered(pd, x):
    try:
        return peerpin.verbs.register(pd, x, ACCESS)
    except peerpin.Error as error:
        pytest.skip(f"this adapter takes no GPU memory: {error.strerror}")


def test_gpu_memory_is_cached(pd):
    x = gpu.CudaArray((MIB,))
    registered(pd, x).close()
    with peerpin.verbs.Registrar(address_of(pd), ACCESS, keep=pd) as registrar:
        mr = registrar.register(x)
        again = registrar.register(x.address + 100, 10)
        assert (mr.lkey, mr.rkey) == (again.lkey, again.rkey) and mr.way != peerpin.verbs.Way.HOST
        assert (mr.addr, mr.base, mr.size) == (x.address, x.address, 4 * MIB)
        assert registrar.stats().hits == 1
        again.close()
        mr.close()


def test_rdma_moves_gpu_memory(adapter, pd):
    """A loop through one queue pair: written from one array into another"""
    from pyverbs.addr import AHAttr, GlobalRoute
    from pyverbs.cq import CQ
    from pyverbs.qp import QP, QPAttr, QPCap, QPInitAttr
    from pyverbs.wr import SGE, SendWR

    src, dst = gpu.CudaArray((MIB,)), gpu.CudaArray((MIB,))
    data = bytes(range(256)) * 4096
    src.write(data)
    with registered(pd, src) as here, registered(pd, dst) as there:
        with CQ(adapter, 4) as cq:
            init = QPInitAttr(qp_type=enums.IBV_QPT_RC, scq=cq, rcq=cq, cap=QPCap(max_send_wr=1, max_recv_wr=1), sq_sig_all=1)
            attr = QPAttr(port_num=1)
            attr.qp_access_flags = ACCESS
            with QP(pd, init, attr) as qp:
                attr = QPAttr(port_num=1)
                attr.dest_qp_num = qp.qp_num
                attr.path_mtu = enums.IBV_MTU_1024
                attr.max_rd_atomic = attr.max_dest_rd_atomic = 1
                attr.qp_access_flags = ACCESS
                index, gid = ipv4_gid(adapter)
                attr.ah_attr = AHAttr(port_num=1, is_global=1, gr=GlobalRoute(dgid=gid, sgid_index=index))
                qp.to_rts(attr)
                wr = SendWR(1, num_sge=1, sg=[SGE(here.addr, MIB, here.lkey)], opcode=enums.IBV_WR_RDMA_WRITE)
                wr.set_wr_rdma(there.rkey, there.addr)
                qp.post_send(wr)
                for _ in range(1000000):
                    count, completions = cq.poll()
                    if count:
                        break
                assert count == 1 and completions[0].status == enums.IBV_WC_SUCCESS
    assert dst.read(MIB) == data


def test_refusal_has_a_sentence(pd):
    with pytest.raises(peerpin.Error) as failed:
        peerpin.verbs.register(pd, 4096, ACCESS, 10)
    assert failed.value.errno and len(failed.value.strerror) > 10


def test_memory_outlives_its_registrar_handle(pd):
    registrar = peerpin.verbs.Registrar(address_of(pd), ACCESS, keep=pd)
    x = bytearray(10000)
    mr = registrar.register(x)
    registrar.close()
    with pytest.raises(ValueError):
        registrar.register(x)
    with pytest.raises(BufferError):
        x.extend(b"1")
    mr.close()
    x.extend(b"1")
    with pytest.raises(peerpin.Error) as failed:
        peerpin.verbs.Registrar(address_of(pd), pin_flags=1 << 20)
    assert failed.value.errno == errno.EOPNOTSUPP
    with pytest.raises(peerpin.Error) as failed:
        peerpin.verbs.Registrar(0)
    assert failed.value.errno == errno.EINVAL
