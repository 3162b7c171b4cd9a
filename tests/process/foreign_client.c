/* A program that knows the NPU only by its device node and the numbers of the driver interface: no header, no library of the
   project. Usage: foreign_client PDI STREAM BYTES; moves BYTES bytes through argument 0 to argument 1 of the stream.
   Exit code 0 when the same bytes came back, 3 when others did, 2 with a line on stderr when a call failed. */
#include <emmintrin.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#define REQUEST(number, bytes) (3UL << 30 | (unsigned long)(bytes) << 16 | 'd' << 8 | (number))

static int node;

static void call(const char* name, unsigned number, void* argument, size_t bytes) {
  if (ioctl(node, REQUEST(number, bytes), argument) != 0) {
    fprintf(stderr, "%s: %s\n", name, strerror(errno));
    exit(2);
  }
}

static void flush(const void* start, size_t bytes) {
  _mm_mfence();
  for (size_t i = 0; i < bytes; i += 64) _mm_clflush((const char*)start + i);
  _mm_mfence();
}

struct buffer {
  uint32_t handle;
  uint64_t address; /* of the device */
  uint8_t* data;
};

/* Types: 1 shared, 2 heap, 3 in the heap, 4 command. */
static struct buffer make(uint32_t type, uint64_t bytes, void* at) {
  struct { uint64_t flags, vaddr, size; uint32_t type, handle; } create = {0, 0, bytes, type, 0};
  call("CREATE_BO", 0x43, &create, sizeof create);
  struct { uint64_t ext, ext_flags; uint32_t handle, pad; uint64_t map_offset, vaddr, xdna_addr; } info = {0};
  info.handle = create.handle;
  call("GET_BO_INFO", 0x44, &info, sizeof info);
  struct buffer out = {create.handle, info.xdna_addr, (uint8_t*)info.vaddr};
  if (type == 3) return out;
  void* mapped = mmap(at, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | (at ? MAP_FIXED : 0), node, (off_t)info.map_offset);
  if (mapped == MAP_FAILED) {
    perror("mmap");
    exit(2);
  }
  out.data = mapped;
  if (type == 1) out.address = (uint64_t)mapped;
  return out;
}

static size_t read_file(const char* path, uint8_t* into, size_t room) {
  FILE* file = fopen(path, "rb");
  const size_t bytes = file ? fread(into, 1, room, file) : 0;
  if (bytes == 0 || bytes == room) {
    fprintf(stderr, "%s: cannot be read, or is too long\n", path);
    exit(2);
  }
  fclose(file);
  return bytes;
}

static struct buffer load(const char* path, size_t* bytes) {
  static uint8_t text[1 << 20];
  *bytes = read_file(path, text, sizeof text);
  struct buffer out = make(3, *bytes, NULL);
  memcpy(out.data, text, *bytes);
  flush(out.data, *bytes);
  return out;
}

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  const size_t bytes = strtoul(argv[3], NULL, 10), heap_bytes = 64u << 20;
  node = open("/dev/accel/accel0", O_RDWR | O_CLOEXEC);
  if (node < 0) {
    perror("/dev/accel/accel0");
    return 2;
  }
  char name[32] = {0};
  struct { int32_t version[3]; uint32_t pad; uint64_t name_len; char* name; uint64_t rest[4]; } version = {{0}, 0, 31, name, {0}};
  call("VERSION", 0x00, &version, sizeof version);
  uint8_t metadata[64];
  struct { uint32_t param, size; void* buffer; } query = {1, sizeof metadata, metadata};
  call("GET_INFO", 0x47, &query, sizeof query);

  uint8_t* room = mmap(NULL, 2 * heap_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  uint8_t* heap_at = (uint8_t*)(((uintptr_t)room + heap_bytes - 1) / heap_bytes * heap_bytes);
  make(2, heap_bytes, heap_at);

  uint32_t qos[8] = {0, 0, 0, 0, 0, 0x200, 0xFF, 0};
  struct { uint64_t ext, ext_flags; void* qos; uint32_t umq_bo, log_bo, max_opc, tiles, mem, doorbell, handle, syncobj; } context = {0};
  context.qos = qos;
  context.max_opc = 0x800;
  context.tiles = 32;
  call("CREATE_HWCTX", 0x40, &context, sizeof context);
  size_t pdi_bytes, stream_bytes;
  struct buffer pdi = load(argv[1], &pdi_bytes), stream = load(argv[2], &stream_bytes);
  struct { uint16_t cus, pad[3]; uint32_t bo; uint8_t func, pad2[3]; } cu = {1, {0}, pdi.handle, 0, {0}};
  struct { uint32_t handle, type; void* value; uint32_t size, pad; } config = {context.handle, 0, &cu, sizeof cu, 0};
  call("CONFIG_HWCTX", 0x42, &config, sizeof config);

  struct buffer in = make(1, bytes, NULL), out = make(1, bytes, NULL), packet = make(4, 4096, NULL);
  for (size_t i = 0; i < bytes; ++i) in.data[i] = (uint8_t)(i * 37 + i / 256);
  flush(in.data, bytes);
  flush(out.data, bytes);
  /* START_CU: header, CU mask, u64 opcode 3, u64 stream, u32 words, u64 buffers. */
  const uint64_t arguments[2] = {in.address, out.address}, opcode = 3;
  const uint32_t words = (uint32_t)(stream_bytes / 4), mask = 1, count = 1 + 5 + 4;
  const uint32_t header = 1 /* new */ | count << 12;
  memcpy(packet.data, &header, 4);
  memcpy(packet.data + 4, &mask, 4);
  memcpy(packet.data + 8, &opcode, 8);
  memcpy(packet.data + 16, &stream.address, 8);
  memcpy(packet.data + 24, &words, 4);
  memcpy(packet.data + 28, arguments, 16);
  uint32_t handles[3] = {in.handle, out.handle, stream.handle};
  struct { uint64_t ext, ext_flags; uint32_t context, type; uint64_t command; void* args; uint32_t commands, arg_count; uint64_t seq; }
      run = {0, 0, context.handle, 0, packet.handle, handles, 1, 3, 0};
  call("EXEC_CMD", 0x46, &run, sizeof run);
  uint32_t syncobj = context.syncobj;
  uint64_t point = run.seq;
  struct { void *handles, *points; int64_t deadline; uint32_t count, flags, first, pad; } wait = {&syncobj, &point, INT64_MAX, 1, 2, 0, 0};
  call("SYNCOBJ_TIMELINE_WAIT", 0xCA, &wait, sizeof wait);
  uint32_t state;
  memcpy(&state, packet.data, 4);
  if ((state & 0xF) != 4) {
    fprintf(stderr, "command ended in state %u\n", state & 0xF);
    return 2;
  }
  flush(out.data, bytes);
  const int same = memcmp(in.data, out.data, bytes) == 0;
  printf("%s, %zu bytes %s\n", name, bytes, same ? "came back" : "DIFFER");
  munmap(in.data, bytes);
  munmap(room, 2 * heap_bytes);
  close(node);
  return same ? 0 : 3;
}
