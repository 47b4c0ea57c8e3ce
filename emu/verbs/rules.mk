# SPDX-License-Identifier: MIT
# libemurdma.so: what the userspace driver of the emulated RDMA adapter lacks
USER_TARGETS += $(B)/emu/libemurdma.so

$(B)/emu/libemurdma.so: emu/verbs/reg_dmabuf.c | $(B)/emu
	$(CC) $(CPPFLAGS) $(CFLAGS) -fPIC $(LDFLAGS) -shared -Wl,-soname,libemurdma.so -o $@ $< -ldl
