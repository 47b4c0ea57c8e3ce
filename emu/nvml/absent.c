// SPDX-License-Identifier: MIT
/*
 * absent: functions that GPU-probing libraries look up, but that the emulated GPU does
 * not support. Arguments are ignored.
 */
#include "export.h"
#include "init.h"

static nvmlReturn_t absent(void)
{
	nvmlReturn_t err = lib_ready();

	return err ? err : NVML_ERROR_NOT_SUPPORTED;
}

ALIAS(nvmlDeviceGetFieldValues, absent);
ALIAS(nvmlDeviceGetNvLinkRemotePciInfo, absent);
ALIAS(nvmlDeviceGetNvLinkCapability, absent);
ALIAS(nvmlDeviceGetNvLinkVersion, absent);
ALIAS(nvmlDeviceGetGpuFabricInfo, absent);
ALIAS(nvmlDeviceGetGpuFabricInfoV, absent);
ALIAS(nvmlDeviceGetTopologyCommonAncestor, absent);
ALIAS(nvmlDeviceGetSerial, absent);
ALIAS(nvmlDeviceGetMaxPcieLinkGeneration, absent);
ALIAS(nvmlDeviceGetMaxPcieLinkWidth, absent);
ALIAS(nvmlDeviceGetCurrPcieLinkGeneration, absent);
ALIAS(nvmlDeviceGetCurrPcieLinkWidth, absent);
ALIAS(nvmlDeviceGetPcieThroughput, absent);
ALIAS(nvmlDeviceGetTemperature, absent);
ALIAS(nvmlDeviceGetPowerUsage, absent);
ALIAS(nvmlDeviceGetUtilizationRates, absent);
ALIAS(nvmlDeviceGetComputeRunningProcesses_v3, absent);
ALIAS(nvmlDeviceGetMigMode, absent);
