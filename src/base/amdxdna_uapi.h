// The amdxdna driver's ioctl structures, the DRM core structures a client needs, and the ERT packet layout:
// our own definitions, so that no system header (0.0 to 1.0 are in the field) decides the layout. Sizes and
// offsets are pinned here; the figures are those of the driver interface for x86-64, driver versions 0.0
// to 1.0.
#pragma once

#include "base/types.h"

namespace tegula::uapi {

inline constexpr const char* kDriverName = "amdxdna_accel_driver";
inline constexpr u64 kAllOnes = ~u64{0};  // "no value" in addresses and offsets
inline constexpr u64 kHeapBase = 0x0400'0000;
inline constexpr u64 kHeapGranule = u64{64} << 20;
inline constexpr u64 kHeapLimit = u64{512} << 20;
inline constexpr u64 kDevAlignment = 32 * 1024;
inline constexpr u64 kPage = 4096;
inline constexpr u64 kCacheLine = 64;
inline constexpr u64 kShimHostOffset =
    0x8000'0000;  // where the shim sees host memory, added to buffer addresses
inline constexpr u32 kColumns = 8;
inline constexpr u32 kRows = 6;
inline constexpr u32 kCoreRows = 4;
inline constexpr u32 kMaxContexts = 16;
inline constexpr u32 kJobsInFlight = 4;
inline constexpr u32 kChainBufferBytes = 4096;  // kernel buffer that holds the slots of one job
inline constexpr u32 kMaxCus = 32;
inline constexpr u32 kMaxExecArgs = 4095;

// ---- requests ----

enum Number : u32 {
  kCreateHwctx = 0x40,
  kDestroyHwctx = 0x41,
  kConfigHwctx = 0x42,
  kCreateBo = 0x43,
  kGetBoInfo = 0x44,
  kSyncBo = 0x45,
  kExecCmd = 0x46,
  kGetInfo = 0x47,
  kSetState = 0x48,
  kWaitCmd = 0x49,
  kGetArray = 0x4A,
  kDrmVersion = 0x00,
  kDrmGemClose = 0x09,
  kDrmPrimeHandleToFd = 0x2D,
  kDrmPrimeFdToHandle = 0x2E,
  kDrmSyncobjCreate = 0xBF,
  kDrmSyncobjDestroy = 0xC0,
  kDrmSyncobjTimelineWait = 0xCA,
  kDrmSyncobjQuery = 0xCB,
};

inline constexpr u32 kWrite = 1;  // direction bits: the caller writes, the kernel reads
inline constexpr u32 kRead = 2;

// A request word: direction 31:30, size 29:16, type 'd' 15:8, number 7:0.
constexpr u32 request(u32 number, u32 size, u32 direction = kWrite | kRead) {
  return direction << 30 | size << 16 | 0x64u << 8 | number;
}
constexpr u32 request_number(u32 request) {
  return request & 0xFF;
}
constexpr u32 request_size(u32 request) {
  return request >> 16 & 0x3FFF;
}

// ---- buffer objects ----

enum BoType : u32 { kBoInvalid = 0, kBoShare = 1, kBoDevHeap = 2, kBoDev = 3, kBoCmd = 4 };

struct CreateBo {
  u64 flags;  // must be 0
  u64 vaddr;  // 0, or a VaTable
  u64 size;
  u32 type;    // BoType
  u32 handle;  // out
};
static_assert(sizeof(CreateBo) == 32);

struct VaTable {
  i32 dmabuf_fd;  // -1: entries follow
  u32 num_entries;
};
static_assert(sizeof(VaTable) == 8);

struct VaEntry {
  u64 vaddr;
  u64 len;
};
static_assert(sizeof(VaEntry) == 16);

struct GetBoInfo {
  u64 ext;
  u64 ext_flags;
  u32 handle;
  u32 pad;
  u64 map_offset;  // out; all ones for DEV
  u64 vaddr;       // out; all ones while unmapped
  u64 xdna_addr;   // out; all ones while unknown
};
static_assert(sizeof(GetBoInfo) == 48);

struct SyncBo {
  u32 handle;
  u32 direction;  // 0 to device, 1 from device
  u64 offset;
  u64 size;
};
static_assert(sizeof(SyncBo) == 24);

// ---- hardware contexts ----

struct CreateHwctx {
  u64 ext;
  u64 ext_flags;
  u64 qos_p;  // QosInfo; always read
  u32 umq_bo;
  u32 log_buf_bo;
  u32 max_opc;
  u32 num_tiles;  // columns x core rows
  u32 mem_size;
  u32 umq_doorbell;    // out
  u32 handle;          // out
  u32 syncobj_handle;  // out
};
static_assert(sizeof(CreateHwctx) == 56);

// 24 bytes up to 0.16; driver 1.0 reads 32, so the block always has them.
struct QosInfo {
  u32 gops;
  u32 fps;
  u32 dma_bandwidth;
  u32 latency;
  u32 frame_exec_time;
  u32 priority;
  u32 user_start_col;  // 1.0 only; 0xFF = none
  u32 reserved;
};
static_assert(sizeof(QosInfo) == 32);
inline constexpr u32 kQosSize = 24;
inline constexpr u32 kQosSizeLegacy = 32;
inline constexpr u32 kPriorityNormal = 0x200;

struct DestroyHwctx {
  u32 handle;
  u32 pad;
};
static_assert(sizeof(DestroyHwctx) == 8);

enum ConfigParam : u32 { kConfigCu = 0, kAssignDebugBo = 1, kRemoveDebugBo = 2 };

struct ConfigHwctx {
  u32 handle;
  u32 param_type;  // ConfigParam
  u64 param_val;   // pointer for kConfigCu
  u32 param_val_size;
  u32 pad;
};
static_assert(sizeof(ConfigHwctx) == 24);

struct ConfigCuHead {
  u16 num_cus;
  u16 pad[3];
};
static_assert(sizeof(ConfigCuHead) == 8);

struct CuConfig {
  u32 cu_bo;  // DEV BO with the PDI
  u8 cu_func;
  u8 pad[3];
};
static_assert(sizeof(CuConfig) == 8);

// ---- submission and waiting ----

struct ExecCmd {
  u64 ext;
  u64 ext_flags;
  u32 hwctx;
  u32 type;         // 0
  u64 cmd_handles;  // the handle itself
  u64 args;         // pointer to u32 handles
  u32 cmd_count;    // 1
  u32 arg_count;
  u64 seq;  // out
};
static_assert(sizeof(ExecCmd) == 56);

struct WaitCmd {
  u32 hwctx;
  u32 timeout;  // ms, 0 = for ever
  u64 seq;
};
static_assert(sizeof(WaitCmd) == 16);

// ---- queries ----

enum InfoParam : u32 {
  kInfoAieStatus = 0,
  kInfoAieMetadata = 1,
  kInfoAieVersion = 2,
  kInfoClock = 3,
  kInfoHwContexts = 5,
  kInfoFirmwareVersion = 8,
  kInfoPowerMode = 9,
  kInfoForcePreempt = 11,
  kInfoResource = 12,
  kInfoFramePreempt = 13,
};

struct GetInfo {
  u32 param;
  u32 buffer_size;  // in and out
  u64 buffer;
};
static_assert(sizeof(GetInfo) == 16);

struct SetState {
  u32 param;
  u32 buffer_size;
  u64 buffer;
};
static_assert(sizeof(SetState) == 16);

enum ArrayParam : u32 {
  kArrayHwContextAll = 0,
  kArrayHwContextById = 1,
  kArrayLastAsyncError = 2,
  kArrayBoUsage = 6,
};

struct GetArray {
  u32 param;
  u32 element_size;  // in: the caller's; out: the kernel's
  u32 num_element;   // in: capacity; out: filled
  u32 pad;
  u64 buffer;
};
static_assert(sizeof(GetArray) == 24);

struct TileMetadata {
  u16 row_count;
  u16 row_start;
  u16 dma_channel_count;
  u16 lock_count;
  u16 event_reg_count;
  u16 pad[3];
};
static_assert(sizeof(TileMetadata) == 16);

struct AieMetadata {
  u32 col_size;
  u16 cols;
  u16 rows;
  u32 version_major;
  u32 version_minor;
  TileMetadata core;
  TileMetadata mem;
  TileMetadata shim;
};
static_assert(sizeof(AieMetadata) == 64);

struct AieVersion {
  u32 major;
  u32 minor;
};
static_assert(sizeof(AieVersion) == 8);

struct Clock {
  char name[16];
  u32 freq_mhz;
  u32 pad;
};
static_assert(sizeof(Clock) == 24);

struct ClockMetadata {
  Clock mp_npu;
  Clock h;
};
static_assert(sizeof(ClockMetadata) == 48);

struct FirmwareVersion {
  u32 major;
  u32 minor;
  u32 patch;
  u32 build;
};
static_assert(sizeof(FirmwareVersion) == 16);

struct PowerMode {
  u8 power_mode;  // 0 default, 1 low, 2 medium, 3 high, 4 turbo
  u8 pad[7];
};
static_assert(sizeof(PowerMode) == 8);

struct AttributeState {
  u8 state;
  u8 pad[7];
};
static_assert(sizeof(AttributeState) == 8);

struct ResourceInfo {
  u64 npu_clk_max;
  u64 npu_tops_max;
  u64 npu_task_max;
  u64 npu_tops_curr;
  u64 npu_task_curr;
};
static_assert(sizeof(ResourceInfo) == 40);

struct QueryHwctx {
  u32 context_id;
  u32 start_col;
  u32 num_col;
  u32 pad;
  u64 pid;
  u64 command_submissions;
  u64 command_completions;
  u64 migrations;
  u64 preemptions;
  u64 errors;
};
static_assert(sizeof(QueryHwctx) == 64);

struct HwctxEntry {
  u32 context_id;
  u32 start_col;
  u32 num_col;
  u32 hwctx_id;
  u64 pid;
  u64 command_submissions;
  u64 command_completions;
  u64 migrations;
  u64 preemptions;
  u64 errors;
  u64 priority;
  u64 heap_usage;
  u64 suspensions;
  u32 state;  // 0 idle, 1 active
  u32 pasid;
  u32 gops;
  u32 fps;
  u32 dma_bandwidth;
  u32 latency;
  u32 frame_exec_time;
  u32 txn_op_idx;
  u32 ctx_pc;
  u32 fatal_error_type;
  u32 fatal_error_exception_type;
  u32 fatal_error_exception_pc;
  u32 fatal_error_app_module;
  u32 pad;
  char name[16];
};
static_assert(sizeof(HwctxEntry) == 160);

struct AsyncError {
  u64 err_code;  // number 15:0, driver 23:16, severity 31:24, module 39:32, class 47:40
  u64 ts_us;
  u64 ex_err_code;  // column 7:0, row 15:8
};
static_assert(sizeof(AsyncError) == 24);

struct BoUsage {
  i64 pid;
  u64 total_usage;
  u64 internal_usage;
  u64 heap_usage;
};
static_assert(sizeof(BoUsage) == 32);

// Numbers and modules of asynchronous errors.
enum AsyncNumber : u32 {
  kErrStream = 5,
  kErrAccess = 6,
  kErrBus = 7,
  kErrInstruction = 8,
  kErrLock = 10,
  kErrDma = 11,
  kErrUnknown = 15
};
enum AsyncModule : u32 {
  kModuleCore = 3,
  kModuleMemory = 4,
  kModuleShim = 5,
  kModuleNoc = 6,
  kModuleUnknown = 8
};

constexpr u64 async_code(u32 number, u32 module) {
  return u64{number} | u64{4} << 16 | u64{3} << 24 | u64{module} << 32 | u64{2} << 40;
}

// ---- DRM core ----

struct DrmVersion {
  i32 major;
  i32 minor;
  i32 patchlevel;
  u32 pad;
  u64 name_len;
  u64 name;
  u64 date_len;
  u64 date;
  u64 desc_len;
  u64 desc;
};
static_assert(sizeof(DrmVersion) == 64);

struct DrmGemClose {
  u32 handle;
  u32 pad;
};
static_assert(sizeof(DrmGemClose) == 8);

struct DrmPrimeHandle {
  u32 handle;
  u32 flags;
  i32 fd;
};
static_assert(sizeof(DrmPrimeHandle) == 12);

struct DrmSyncobjCreate {
  u32 handle;
  u32 flags;
};
static_assert(sizeof(DrmSyncobjCreate) == 8);

struct DrmSyncobjDestroy {
  u32 handle;
  u32 pad;
};
static_assert(sizeof(DrmSyncobjDestroy) == 8);

enum SyncobjWaitFlag : u32 { kWaitAll = 1, kWaitForSubmit = 2, kWaitAvailable = 4 };

struct DrmSyncobjTimelineWait {
  u64 handles;       // u32 array
  u64 points;        // u64 array
  i64 timeout_nsec;  // absolute CLOCK_MONOTONIC
  u32 count_handles;
  u32 flags;
  u32 first_signaled;  // out
  u32 pad;
};
static_assert(sizeof(DrmSyncobjTimelineWait) == 40);

struct DrmSyncobjTimelineArray {
  u64 handles;
  u64 points;
  u32 count_handles;
  u32 flags;
};
static_assert(sizeof(DrmSyncobjTimelineArray) == 24);

// ---- request words ----

inline constexpr u32 kReqCreateHwctx = request(kCreateHwctx, sizeof(CreateHwctx));
inline constexpr u32 kReqDestroyHwctx = request(kDestroyHwctx, sizeof(DestroyHwctx));
inline constexpr u32 kReqConfigHwctx = request(kConfigHwctx, sizeof(ConfigHwctx));
inline constexpr u32 kReqCreateBo = request(kCreateBo, sizeof(CreateBo));
inline constexpr u32 kReqGetBoInfo = request(kGetBoInfo, sizeof(GetBoInfo));
inline constexpr u32 kReqSyncBo = request(kSyncBo, sizeof(SyncBo));
inline constexpr u32 kReqExecCmd = request(kExecCmd, sizeof(ExecCmd));
inline constexpr u32 kReqGetInfo = request(kGetInfo, sizeof(GetInfo));
inline constexpr u32 kReqSetState = request(kSetState, sizeof(SetState));
inline constexpr u32 kReqWaitCmd = request(kWaitCmd, sizeof(WaitCmd), kWrite);
inline constexpr u32 kReqGetArray = request(kGetArray, sizeof(GetArray));
inline constexpr u32 kReqVersion = request(kDrmVersion, sizeof(DrmVersion));
inline constexpr u32 kReqGemClose = request(kDrmGemClose, sizeof(DrmGemClose), kWrite);
inline constexpr u32 kReqPrimeHandleToFd = request(kDrmPrimeHandleToFd, sizeof(DrmPrimeHandle));
inline constexpr u32 kReqPrimeFdToHandle = request(kDrmPrimeFdToHandle, sizeof(DrmPrimeHandle));
inline constexpr u32 kReqSyncobjCreate = request(kDrmSyncobjCreate, sizeof(DrmSyncobjCreate));
inline constexpr u32 kReqSyncobjDestroy = request(kDrmSyncobjDestroy, sizeof(DrmSyncobjDestroy));
inline constexpr u32 kReqSyncobjTimelineWait =
    request(kDrmSyncobjTimelineWait, sizeof(DrmSyncobjTimelineWait));
inline constexpr u32 kReqSyncobjQuery = request(kDrmSyncobjQuery, sizeof(DrmSyncobjTimelineArray));
static_assert(kReqCreateHwctx == 0xC0386440 && kReqDestroyHwctx == 0xC0086441 &&
              kReqConfigHwctx == 0xC0186442);
static_assert(kReqCreateBo == 0xC0206443 && kReqGetBoInfo == 0xC0306444 && kReqSyncBo == 0xC0186445);
static_assert(kReqExecCmd == 0xC0386446 && kReqGetInfo == 0xC0106447 && kReqSetState == 0xC0106448);
static_assert(kReqWaitCmd == 0x40106449 && kReqGetArray == 0xC018644A && kReqVersion == 0xC0406400);
static_assert(kReqGemClose == 0x40086409 && kReqPrimeHandleToFd == 0xC00C642D &&
              kReqPrimeFdToHandle == 0xC00C642E);
static_assert(kReqSyncobjCreate == 0xC00864BF && kReqSyncobjDestroy == 0xC00864C0);
static_assert(kReqSyncobjTimelineWait == 0xC02864CA && kReqSyncobjQuery == 0xC01864CB);

// ---- ERT packets ----

enum ErtState : u32 {
  kStateInvalid = 0,
  kStateNew = 1,
  kStateCompleted = 4,
  kStateError = 5,
  kStateAbort = 6,
  kStateTimeout = 8
};

enum ErtOpcode : u32 {
  kErtStartCu = 0,
  kErtChain = 19,
  kErtStartNpu = 20,
  kErtStartNpuPreempt = 21,
  kErtStartNpuPreemptElf = 22
};

inline constexpr u32 kErtTypeCu = 3;
inline constexpr u32 kErtMaxWords = 2047;

constexpr u32 ert_header(u32 opcode, u32 words, u32 state = kStateNew) {
  return state | words << 12 | opcode << 23 | kErtTypeCu << 28;
}
constexpr u32 ert_state(u32 header) {
  return header & 0xF;
}
constexpr u32 ert_extra_masks(u32 header) {
  return header >> 10 & 3;
}
constexpr u32 ert_count(u32 header) {
  return header >> 12 & 0x7FF;
}
constexpr u32 ert_opcode(u32 header) {
  return header >> 23 & 0x1F;
}
static_assert(ert_header(kErtStartCu, 16) == 0x30010001);

// START_CU register map, in words after the CU mask: opcode (3 = execute TXN), stream address, count, buffer
// addresses.
inline constexpr u32 kCuOpcodeTxn = 3;
inline constexpr u32 kCuMapHeadWords = 5;

struct ErtNpuData {
  u64 instruction_buffer;
  u32 instruction_buffer_size;  // bytes
  u32 instruction_prop_count;
};
static_assert(sizeof(ErtNpuData) == 16);

struct ErtNpuPreemptData {
  u64 instruction_buffer;
  u64 save_buffer;
  u64 restore_buffer;
  u32 instruction_buffer_size;
  u32 save_buffer_size;
  u32 restore_buffer_size;
  u32 instruction_prop_count;
};
static_assert(sizeof(ErtNpuPreemptData) == 40);

struct ErtChainData {
  u32 command_count;
  u32 submit_index;
  u32 error_index;
  u32 reserved[3];
};
static_assert(sizeof(ErtChainData) == 24);

struct ErtHealth {
  u32 version;  // 1
  u32 npu_gen;  // 0
  u32 txn_op_idx;
  u32 ctx_pc;
  u32 fatal_error_type;
  u32 fatal_error_exception_type;
  u32 fatal_error_exception_pc;
  u32 fatal_error_app_module;
};
static_assert(sizeof(ErtHealth) == 32);

// Slot of one command in the kernel's chain buffer with the NPU_COMMAND message.
inline constexpr u32 kSlotHeadBytes = 52;
inline constexpr u32 kNpuMaxArgWords = 26;

}  // namespace tegula::uapi
