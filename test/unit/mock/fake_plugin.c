// SPDX-License-Identifier: MIT
/* A library whose constructor calls back into the program. */
void plugin_is_loading(void);	/* defined by the program */

static void __attribute__((constructor)) load(void)
{
	plugin_is_loading();
}
