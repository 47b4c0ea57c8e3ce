# SPDX-License-Identifier: GPL-2.0
# Calls of emu/rdma/mr.h in Soft-RoCE of all kernels. An edit of a function that a kernel lacks does nothing.
/^#define RXE_LOC_H/a\
#include "memory.h"\
#include "mr.h" /* emurdma */

/^struct rxe_mr {/a\
	struct rdma_memory *memory; /* emurdma */

/^static void __exit rxe_module_exit(/,/^}/s/^\trxe_net_exit();/&\n\temurdma_exit();/

/^int rxe_register_device(/,/^}/s/^\tib_set_device_ops(/\temurdma_set_ops(dev);\n&/
/^static struct ib_mr \*rxe_rereg_user_mr(/,/^}/s/ib_umem_check_rereg(mr->umem, flags, access)/mr->umem ? & : -EOPNOTSUPP \/* emurdma *\//

/^int rxe_mr_copy(/,/^}/s/^\tif (mr->\(ibmr\.\)\?type == IB_MR_TYPE_DMA) {/\tif (mr->memory)\n\t\treturn emurdma_copy(mr, iova, addr, length, dir == RXE_TO_MR_OBJ);\n&/
/^void rxe_mr_cleanup(/,/^}/s/^\tib_umem_release(/\trdma_memory_free(mr->memory); \/* emurdma *\/\n&/

# The error has the number of the missing packet: the requester ignores an earlier number.
/^static enum resp_states read_reply(/,/^}/s/^\tif (res->state == rdatm_res_state_new) {/\treq_pkt->psn = res->cur_psn; \/* emurdma *\/\n&/

# A copy of no bytes only tests that the memory is valid: the function's writes are in memory already.
/^int rxe_flush_pmem_iova(/,/^}/s/^\tif (mr->ibmr.type == IB_MR_TYPE_DMA)/\tif (mr->memory)\n\t\treturn emurdma_copy(mr, mr->ibmr.iova, NULL, 0, true);\n&/

/^[a-z_ ]* rxe_mr_do_atomic_op(/,/^}/s/^\tif (mr->ibmr.type == IB_MR_TYPE_DMA) {/\tif (mr->memory) {\n\t\tint err = emurdma_atomic(mr, iova, opcode, compare, swap_add, orig_val);\n\n\t\tif (err == -EINVAL)\n\t\t\treturn RESPST_ERR_MISALIGNED_ATOMIC;\n\t\treturn err ? RESPST_ERR_RKEY_VIOLATION : RESPST_NONE;\n\t}\n&/
/^[a-z_ ]* rxe_mr_do_atomic_write(/,/^}/s/^\tif (mr->ibmr.type == IB_MR_TYPE_DMA) {/\tif (mr->memory) {\n\t\tif (iova % sizeof(value))\n\t\t\treturn RESPST_ERR_MISALIGNED_ATOMIC;\n\t\treturn emurdma_copy(mr, iova, \&value, sizeof(value), true) ? RESPST_ERR_RKEY_VIOLATION : RESPST_NONE;\n\t}\n&/

# The other thread of the QP may have dropped the last reference, that of the packet, before the task is scheduled.
/^void rxe_\(resp\|comp\)_queue_pkt([^;]*$/,/^}/{
	s/^\tskb_queue_tail(/\trxe_get(qp); \/* emurdma *\/\n&/
	s/^}/\trxe_put(qp); \/* emurdma *\/\n}/
}
