# SPDX-License-Identifier: GPL-2.0
# Beside common.sed, for Linux 6.12. 17 lines contain "emurdma".
/^static int __init rxe_module_init(/,/^}/s/^\trdma_link_register(/\terr = emurdma_init();\n\tif (err) {\n\t\trxe_net_exit(); \/* emurdma *\/\n\t\trxe_destroy_wq();\n\t\treturn err;\n\t}\n&/
