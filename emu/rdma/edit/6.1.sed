# SPDX-License-Identifier: GPL-2.0
# Beside common.sed, for Linux 6.1. 19 lines contain "emurdma".
/^static int __init rxe_module_init(/,/^}/s/^\trdma_link_register(/\terr = emurdma_init();\n\tif (err) {\n\t\trxe_net_exit(); \/* emurdma *\/\n\t\treturn err;\n\t}\n&/

# A read of invalid memory is answered by an error, not by what the packet contained before.
/^static enum resp_states read_reply(/,/^}/{
	s/^\trxe_mr_copy(mr, /\terr = rxe_mr_copy(mr, /
	s/^\tif (bth_pad(&ack_pkt)) {/\tif (err) { \/* emurdma *\/\n\t\tkfree_skb(skb);\n\t\treturn RESPST_ERR_RKEY_VIOLATION;\n\t}\n&/
}

# The requester takes that error between two packets of a read, as Linux 6.2 does.
/^static inline enum comp_state check_ack(/,/^}/{
	/case IB_OPCODE_RC_RDMA_READ_RESPONSE_MIDDLE:/,/^\tdefault:/s/^\t\tif (pkt->opcode != IB_OPCODE_RC_RDMA_READ_RESPONSE_MIDDLE &&/\t\tif (pkt->opcode == IB_OPCODE_RC_ACKNOWLEDGE) \/* emurdma *\/\n\t\t\tbreak;\n&/
}

# A request that fails locally during a retry gets its completion, as since Linux 6.2: the requester does not
# retry any more, and the completer waited for that.
/^int rxe_completer(/,/^}/s/^\tif (qp->req.need_retry)$/\tif (qp->req.need_retry \&\& qp->req.state != QP_STATE_ERROR) \/* emurdma *\//

/^static enum resp_states atomic_reply(/,/^}/{
	s/^\t\tvaddr = iova_to_vaddr(/\t\tif (mr->memory) {\n\t\t\tint err = emurdma_atomic(mr, qp->resp.va + qp->resp.offset, pkt->opcode,\n\t\t\t\t\t\t atmeth_comp(pkt), atmeth_swap_add(pkt),\n\t\t\t\t\t\t \&res->atomic.orig_val);\n\n\t\t\tif (err) {\n\t\t\t\tret = err == -EINVAL ? RESPST_ERR_MISALIGNED_ATOMIC :\n\t\t\t\t\t\t       RESPST_ERR_RKEY_VIOLATION;\n\t\t\t\tgoto out;\n\t\t\t}\n\t\t\tgoto emurdma_done;\n\t\t}\n&/
	s/^\t\tqp->resp.msn++;/emurdma_done:\n&/
}
