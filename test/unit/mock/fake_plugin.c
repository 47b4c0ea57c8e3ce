// SPDX-License-Identifier: MIT
/* A library that does something while it is being loaded. */
void plugin_is_loading(void);	/* of the program */

static void __attribute__((constructor)) load(void)
{
	plugin_is_loading();
}
