# SPDX-License-Identifier: GPL-2.0
# Calls of emu/rdma/mr.h in Soft-RoCE of Linux 6.1. 14 lines contain "emurdma".
/^#define RXE_LOC_H/a\
#include "memory.h"\
#include "mr.h" /* emurdma */

/^struct rxe_mr {/a\
	struct rdma_memory *memory; /* emurdma */

/^static int __init rxe_module_init(/,/^}/s/^\trdma_link_register(/\terr = emurdma_init();\n\tif (err) {\n\t\trxe_net_exit(); \/* emurdma *\/\n\t\treturn err;\n\t}\n&/
/^static void __exit rxe_module_exit(/,/^}/s/^\trxe_net_exit();/&\n\temurdma_exit();/

/^int rxe_register_device(/,/^}/s/^\tib_set_device_ops(/\temurdma_set_ops(dev);\n&/

/^int rxe_mr_copy(/,/^}/s/^\tif (mr->type == IB_MR_TYPE_DMA) {/\tif (mr->memory)\n\t\treturn emurdma_copy(mr, iova, addr, length, dir == RXE_TO_MR_OBJ);\n&/
/^void rxe_mr_cleanup(/,/^}/s/^\tib_umem_release(/\trdma_memory_free(mr->memory); \/* emurdma *\/\n&/

# A read of invalid memory is answered by an error, not by what the packet contained before. The error
# has the number of the missing packet: the requester ignores an earlier number.
/^static enum resp_states read_reply(/,/^}/{
	s/^\tif (res->state == rdatm_res_state_new) {/\treq_pkt->psn = res->cur_psn; \/* emurdma *\/\n&/
	s/^\trxe_mr_copy(mr, /\terr = rxe_mr_copy(mr, /
	s/^\tif (bth_pad(&ack_pkt)) {/\tif (err) { \/* emurdma *\/\n\t\tkfree_skb(skb);\n\t\treturn RESPST_ERR_RKEY_VIOLATION;\n\t}\n&/
}

# The requester takes that error between two packets of a read, as Linux 6.2 does.
/^static inline enum comp_state check_ack(/,/^}/{
	/case IB_OPCODE_RC_RDMA_READ_RESPONSE_MIDDLE:/,/^\tdefault:/s/^\t\tif (pkt->opcode != IB_OPCODE_RC_RDMA_READ_RESPONSE_MIDDLE &&/\t\tif (pkt->opcode == IB_OPCODE_RC_ACKNOWLEDGE) \/* emurdma *\/\n\t\t\tbreak;\n&/
}

/^static enum resp_states atomic_reply(/,/^}/{
	s/^\t\tvaddr = iova_to_vaddr(/\t\tif (mr->memory) {\n\t\t\tint err = emurdma_atomic(mr, qp->resp.va + qp->resp.offset, pkt->opcode,\n\t\t\t\t\t\t atmeth_comp(pkt), atmeth_swap_add(pkt),\n\t\t\t\t\t\t \&res->atomic.orig_val);\n\n\t\t\tif (err) {\n\t\t\t\tret = err == -EINVAL ? RESPST_ERR_MISALIGNED_ATOMIC :\n\t\t\t\t\t\t       RESPST_ERR_RKEY_VIOLATION;\n\t\t\t\tgoto out;\n\t\t\t}\n\t\t\tgoto emurdma_done;\n\t\t}\n&/
	s/^\t\tqp->resp.msn++;/emurdma_done:\n&/
}
