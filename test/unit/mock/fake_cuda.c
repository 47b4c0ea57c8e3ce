// SPDX-License-Identifier: MIT
/* A minimal libcuda.so.1 for which every address is GPU memory. */
int cuPointerGetAttributes(unsigned int count, int *attributes, void **data,
			   unsigned long long addr);
int cuPointerGetAttribute(void *data, int attribute, unsigned long long addr);
int cuPointerSetAttribute(const void *value, int attribute,
			  unsigned long long addr);

enum {
	MEMORY_TYPE = 2,
	DEVICE = 2,
};

int cuPointerGetAttributes(unsigned int count, int *attributes, void **data,
			   unsigned long long addr)
{
	unsigned int i;

	(void)addr;
	for (i = 0; i < count; i++)
		if (attributes[i] == MEMORY_TYPE)
			*(int *)data[i] = DEVICE;
	return 0;
}

int cuPointerGetAttribute(void *data, int attribute, unsigned long long addr)
{
	(void)data;
	(void)attribute;
	(void)addr;
	return 0;
}

int cuPointerSetAttribute(const void *value, int attribute,
			  unsigned long long addr)
{
	(void)value;
	(void)attribute;
	(void)addr;
	return 0;
}
