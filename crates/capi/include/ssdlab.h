/* libssdlab: a simulated SSD in another program. docs/embedding.md is the guide. Written by cbindgen: do not edit. */

#ifndef SSDLAB_H
#define SSDLAB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/**
 * A time that does not come: there is no next event, or no limit.
 */
#define SSDLAB_NEVER UINT64_MAX

/**
 * Reads bytes.
 */
#define SSDLAB_READ 0

/**
 * Writes bytes.
 */
#define SSDLAB_WRITE 1

/**
 * Deallocates bytes (NVMe Dataset Management, ATA TRIM).
 */
#define SSDLAB_TRIM 2

/**
 * Puts all data that was acknowledged on flash (NVMe Flush); offset and bytes have no meaning.
 */
#define SSDLAB_FLUSH 3

/**
 * Writes bytes at the write pointer of the zone that begins at the offset; the completion says where.
 */
#define SSDLAB_APPEND 4

/**
 * Closes the zones of a range.
 */
#define SSDLAB_ZONE_CLOSE 5

/**
 * Finishes them.
 */
#define SSDLAB_ZONE_FINISH 6

/**
 * Opens them.
 */
#define SSDLAB_ZONE_OPEN 7

/**
 * Resets them.
 */
#define SSDLAB_ZONE_RESET 8

/**
 * Takes read-only ones offline.
 */
#define SSDLAB_ZONE_OFFLINE 9

/**
 * Commits what a zone random write area holds up to the end of the range.
 */
#define SSDLAB_ZONE_FLUSH 10

/**
 * Opens zones with a zone random write area.
 */
#define SSDLAB_ZONE_OPEN_RANDOM 11

/**
 * Reads descriptors of zones, 64 bytes each.
 */
#define SSDLAB_ZONE_REPORT 12

/**
 * Reads a page.
 */
#define SSDLAB_MEDIA_READ 0

/**
 * Programs the pages of a program command, of which the first is named.
 */
#define SSDLAB_MEDIA_PROGRAM 1

/**
 * Erases a block, of which page 0 is named.
 */
#define SSDLAB_MEDIA_ERASE 2

/**
 * It was done.
 */
#define SSDLAB_MEDIA_SUCCESS 0

/**
 * The page could not be corrected.
 */
#define SSDLAB_MEDIA_UNCORRECTABLE 1

/**
 * The program failed: its pages hold nothing.
 */
#define SSDLAB_MEDIA_PROGRAM_FAILED 2

/**
 * The erase failed: nothing can be programmed in the block before an erase that does not.
 */
#define SSDLAB_MEDIA_ERASE_FAILED 3

/**
 * Not begun: the block is to be erased before the page is programmed.
 */
#define SSDLAB_MEDIA_ERASE_FIRST 4

/**
 * Not begun: pages of a block are programmed in order, and `next_page` comes next.
 */
#define SSDLAB_MEDIA_OUT_OF_ORDER 5

/**
 * Not begun: the page holds no data.
 */
#define SSDLAB_MEDIA_UNWRITTEN 6

/**
 * Not begun: the factory found the block bad.
 */
#define SSDLAB_MEDIA_FACTORY_BAD 7

/**
 * Another reason, of a later version.
 */
#define SSDLAB_MEDIA_OTHER 255

/**
 * No page, or no block.
 */
#define SSDLAB_FTL_NONE UINT64_MAX

/**
 * What became of a call.
 */
typedef enum {
  /**
   * It was done.
   */
  SSDLAB_STATUS_OK,
  /**
   * A pointer that may not be null is null.
   */
  SSDLAB_STATUS_NULL_POINTER,
  /**
   * What was given cannot be used, or a callback has called; nothing has changed.
   */
  SSDLAB_STATUS_INVALID_INPUT,
  /**
   * The drive's life has ended: too few good blocks are left. What completed before is valid.
   */
  SSDLAB_STATUS_END_OF_LIFE,
  /**
   * The run cannot go on, or a file cannot be written.
   */
  SSDLAB_STATUS_FAILED,
  /**
   * The run has been finished.
   */
  SSDLAB_STATUS_FINISHED,
  /**
   * A defect of ssdlab: the drive can only be freed.
   */
  SSDLAB_STATUS_PANIC,
} ssdlab_status;

/**
 * A simulated SSD. One call at a time is played: others wait.
 */
typedef struct ssdlab_drive ssdlab_drive;

/**
 * The full blocks of a plane, while a callback is asked for one.
 */
typedef struct ssdlab_ftl_blocks ssdlab_ftl_blocks;

/**
 * Flash that its host manages. One call at a time is played: others wait.
 */
typedef struct ssdlab_media ssdlab_media;

/**
 * The drive as an FTL of one's own sees it when it is made. Planes whose blocks make a superblock are one.
 */
typedef struct {
  /**
   * Logical pages (LPN): they are numbered from 0.
   */
  uint64_t logical_pages;
  /**
   * Bytes of a page, as the map knows pages (`mapping.unit`).
   */
  uint64_t page_size;
  /**
   * How far the first pages of a plane and of the next one are apart, as pages of the flash (PPN) are numbered; and
   * those of blocks. Page `p` of block `b` of plane `l` is l * plane_stride + b * block_stride + p.
   */
  uint64_t plane_stride;
  /**
   * See `plane_stride`.
   */
  uint64_t block_stride;
  /**
   * Planes of the drive: relocated data stays in its plane.
   */
  uint32_t planes;
  /**
   * Planes of a die, which are numbered one after the other.
   */
  uint32_t planes_per_die;
  /**
   * Blocks of a plane.
   */
  uint32_t blocks;
  /**
   * Pages of a block.
   */
  uint32_t pages;
  /**
   * Streams of host data, numbered from 0: each fills blocks of its own.
   */
  uint16_t streams;
} ssdlab_ftl_layout;

/**
 * An FTL of one's own: docs/own-ftl.md. What it answers follows from what it has been told and asked, in order; it may
 * not call the library but for what asks about blocks. Callbacks answer 0: anything else ends the run, and its error
 * says so. They come from the thread that calls the drive, one at a time.
 */
typedef struct {
  /**
   * Its name with its version: it tells it from others in manifests and checkpoints.
   */
  const char *name;
  /**
   * Given to `create`.
   */
  void *user;
  /**
   * Makes one for a drive, which is given to the other callbacks; null ends the run. After a power cut another one
   * is made, and is told where each page is that is not where it was before the run. Drives of several threads may
   * make theirs at once.
   */
  void *(*create)(void *user, const ssdlab_ftl_layout *layout);
  /**
   * Frees it. May be null.
   */
  void (*destroy)(void *ftl);
  /**
   * A page of host data leaves the write buffer: the plane that it goes to, and its stream, which is 0 unless it is
   * written. `hint` is its placement handle, or 0; `dealt` the plane that static placement deals it to, on which its
   * data was before the run, if it had any.
   */
  int32_t (*write)(void *ftl, uint64_t lpn, uint16_t hint, uint32_t dealt, uint32_t *plane, uint16_t *stream);
  /**
   * The newest data of a page is on a page of the flash now; what was there of it before is stale. `moved`: it was
   * relocated.
   */
  int32_t (*placed)(void *ftl, uint64_t lpn, uint64_t ppn, bool moved);
  /**
   * A page has no data any more.
   */
  int32_t (*trimmed)(void *ftl, uint64_t lpn);
  /**
   * The page of the flash that has the newest data of a page. SSDLAB_FTL_NONE, which `*ppn` is before, where it was
   * not told of that page: the data is where it was before the run.
   */
  int32_t (*locate)(void *ftl, uint64_t lpn, uint64_t *ppn);
  /**
   * A plane has too few free blocks: which of its full blocks is reclaimed next. SSDLAB_FTL_NONE, which `*block` is
   * before: none now; it is asked again when a page of the plane has become stale.
   */
  int32_t (*reclaim)(void *ftl, uint32_t plane, const ssdlab_ftl_blocks *blocks, uint64_t *block);
  /**
   * A block of a plane has been erased. May be null.
   */
  int32_t (*erased)(void *ftl, uint32_t plane, uint32_t block);
  /**
   * Its state, for a checkpoint: `*size` bytes, written to `into` if there is `room` for them; otherwise it is asked
   * again with room. May be null, as `load`: whoever goes on from there begins with a new one, as after a power cut.
   */
  int32_t (*save)(void *ftl, uint8_t *into, size_t room, size_t *size);
  /**
   * Takes a state that was saved.
   */
  int32_t (*load)(void *ftl, const uint8_t *state, size_t size);
} ssdlab_ftl;

/**
 * A drive and its run. Begin with `ssdlab_defaults`; every pointer may be null.
 */
typedef struct {
  /**
   * A preset's name or the path of a device file; "tlc" if it is null.
   */
  const char *device;
  /**
   * The text of a device file (TOML), in place of `device`.
   */
  const char *toml;
  /**
   * A named scheme, or choices: "axis=choice,...".
   */
  const char *scheme;
  /**
   * The state that the run starts from: "pec=2000,retention=6mo".
   */
  const char *age;
  /**
   * Configuration keys, "section.key=value" each.
   */
  const char *const *settings;
  /**
   * How many settings there are.
   */
  size_t setting_count;
  /**
   * Of all random streams: same inputs, requests and seed, same result.
   */
  uint64_t seed;
  /**
   * Requests at the start that are left out of the statistics.
   */
  uint64_t warmup;
  /**
   * Where a row for each request is written (Parquet).
   */
  const char *requests_out;
  /**
   * Where the time series is written when the run is finished (Parquet).
   */
  const char *series_out;
  /**
   * An FTL of one's own in place of the drive's; it is copied, and what it points to must stay until the drive is
   * freed.
   */
  const ssdlab_ftl *ftl;
} ssdlab_options;

/**
 * A request.
 */
typedef struct {
  /**
   * When it arrives [ns]: not before the present, nor before the request before it.
   */
  uint64_t time;
  /**
   * First byte.
   */
  uint64_t offset;
  /**
   * Length [B], more than 0 but for a flush.
   */
  uint64_t bytes;
  /**
   * The submission queue, modulo `host.queues`.
   */
  uint16_t queue;
  /**
   * Placement hint (NVMe Flexible Data Placement, Streams); 0 for none.
   */
  uint16_t hint;
  /**
   * SSDLAB_READ, SSDLAB_WRITE and the others.
   */
  uint8_t op;
} ssdlab_request;

/**
 * A request that has completed.
 */
typedef struct {
  /**
   * Its number.
   */
  uint64_t id;
  /**
   * When it arrived [ns].
   */
  uint64_t time;
  /**
   * When the host saw it complete [ns].
   */
  uint64_t finish;
  /**
   * Some of the data that it asked for could not be corrected.
   */
  bool uncorrectable;
  /**
   * The drive has become read-only at the end of its life and has not done it, or not wholly.
   */
  bool refused;
  /**
   * NVMe's Status Code Type and Status Code: 0 and 0 where it was done.
   */
  uint8_t status_type;
  /**
   * See `status_type`.
   */
  uint8_t status_code;
  /**
   * The first byte that it was done to: of an append where its data is.
   */
  uint64_t offset;
} ssdlab_completion;

/**
 * A zone, as a report of zones has it.
 */
typedef struct {
  /**
   * Its first byte.
   */
  uint64_t start;
  /**
   * Bytes that can be written.
   */
  uint64_t capacity;
  /**
   * Where the next write goes [B].
   */
  uint64_t write_pointer;
  /**
   * Its state, as in a zone descriptor of NVMe: 1 empty, 2 implicitly open, 3 explicitly open, 4 closed, 13
   * read-only, 14 full, 15 offline; 0 is conventional.
   */
  uint8_t state;
} ssdlab_zone_descriptor;

/**
 * A command to the flash.
 */
typedef struct {
  /**
   * When the controller has it [ns]: not before the present, nor before the command before it.
   */
  uint64_t time;
  /**
   * The die, counted over the whole device, channel by channel.
   */
  uint32_t die;
  /**
   * The plane in its die.
   */
  uint32_t plane;
  /**
   * The block in its plane.
   */
  uint32_t block;
  /**
   * The page in its block; 0 of an erase.
   */
  uint32_t page;
  /**
   * Of a read the bytes that are wanted, from the page's first on; 0 is all.
   */
  uint32_t bytes;
  /**
   * SSDLAB_MEDIA_READ, SSDLAB_MEDIA_PROGRAM or SSDLAB_MEDIA_ERASE.
   */
  uint8_t op;
} ssdlab_media_command;

/**
 * A command that has ended.
 */
typedef struct {
  /**
   * Its number.
   */
  uint64_t id;
  /**
   * What was asked.
   */
  ssdlab_media_command command;
  /**
   * When it ended [ns].
   */
  uint64_t finish;
  /**
   * With SSDLAB_MEDIA_OUT_OF_ORDER the page that comes next.
   */
  uint32_t next_page;
  /**
   * Of a read, how often its page was sensed again for the controller.
   */
  uint16_t retries;
  /**
   * SSDLAB_MEDIA_SUCCESS or one of the others.
   */
  uint8_t status;
  /**
   * Its data is other data than was programmed, and nothing has noticed.
   */
  bool miscorrected;
} ssdlab_media_completion;

/**
 * What the flash is made of.
 */
typedef struct {
  /**
   * Data bytes of a page.
   */
  uint64_t page_size;
  /**
   * Channels.
   */
  uint32_t channels;
  /**
   * Dies, over all channels.
   */
  uint32_t dies;
  /**
   * Planes of a die.
   */
  uint32_t planes;
  /**
   * Blocks of a plane.
   */
  uint32_t blocks;
  /**
   * Pages of a block.
   */
  uint32_t pages;
  /**
   * Pages that one program writes.
   */
  uint32_t program_pages;
} ssdlab_media_shape;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/**
 * The version of the library; not to be freed.
 */
const char *ssdlab_version(void);

/**
 * The options of a run with nothing given: the preset tlc, seed 1.
 */
ssdlab_options ssdlab_defaults(void);

/**
 * Builds a drive and brings it into the state that it starts from; free it with `ssdlab_free`. Where that fails
 * `*drive` is null and `*error`, unless `error` is null, says why: free it with `ssdlab_string_free`.
 *
 * # Safety
 * Pointers are null or valid, strings end with a null byte, and `settings` points to `setting_count` of them.
 */
ssdlab_status ssdlab_open(const ssdlab_options *options,
                          ssdlab_drive **drive,
                          char **error);

/**
 * Submits a request; its number, from 0, is written to `*id` unless `id` is null. The first request after the warm-up
 * plays the drive up to its time.
 *
 * # Safety
 * Pointers are null or valid.
 */
ssdlab_status ssdlab_submit(ssdlab_drive *drive,
                            const ssdlab_request *request,
                            uint64_t *id);

/**
 * Submits `count` requests, in their order, as `ssdlab_submit` does one by one: a million in one call are fine. Their
 * numbers follow one another; the first one's is written to `*first`, and to `*submitted` how many were submitted,
 * unless these are null. Where a request is refused, those before it have been submitted, it and those after it have
 * not: `*submitted` is its index, and `ssdlab_last_error` names it.
 *
 * # Safety
 * Pointers are null or valid; `requests` points to `count` of them.
 */
ssdlab_status ssdlab_submit_many(ssdlab_drive *drive,
                                 const ssdlab_request *requests,
                                 size_t count,
                                 uint64_t *first,
                                 size_t *submitted);

/**
 * Plays everything that happens up to and including a time [ns]. Where that lies in the past, nothing happens.
 *
 * # Safety
 * The pointer is null or valid.
 */
ssdlab_status ssdlab_advance(ssdlab_drive *drive,
                             uint64_t to);

/**
 * Plays until a request has completed that was not taken, or up to a time [ns]; SSDLAB_NEVER is no limit. Whether one
 * has is written to `*completed` unless that is null.
 *
 * # Safety
 * Pointers are null or valid.
 */
ssdlab_status ssdlab_advance_to_completion(ssdlab_drive *drive,
                                           uint64_t limit,
                                           bool *completed);

/**
 * Takes completed requests, in order of completion, into an array of `room`; how many were taken is written to
 * `*taken`. Others wait.
 *
 * # Safety
 * Pointers are null or valid; `into` has room for `room` completions.
 */
ssdlab_status ssdlab_take_completions(ssdlab_drive *drive,
                                      ssdlab_completion *into,
                                      size_t room,
                                      size_t *taken);

/**
 * When something happens next [ns], if nothing is submitted before; SSDLAB_NEVER if nothing does. Nothing completes
 * earlier.
 *
 * # Safety
 * Pointers are null or valid.
 */
ssdlab_status ssdlab_next_event(const ssdlab_drive *drive,
                                uint64_t *time);

/**
 * The present [ns]: 0 when the drive was opened.
 *
 * # Safety
 * Pointers are null or valid.
 */
ssdlab_status ssdlab_now(const ssdlab_drive *drive, uint64_t *time);

/**
 * Logical capacity [B].
 *
 * # Safety
 * Pointers are null or valid.
 */
ssdlab_status ssdlab_capacity(const ssdlab_drive *drive, uint64_t *bytes);

/**
 * How many zones the drive has: 0 where it has none (ftl.mapping).
 *
 * # Safety
 * Pointers are null or valid.
 */
ssdlab_status ssdlab_zones(const ssdlab_drive *drive, uint64_t *zones);

/**
 * What a report of zones says of one, by its number.
 *
 * # Safety
 * Pointers are null or valid.
 */
ssdlab_status ssdlab_zone(const ssdlab_drive *drive, uint32_t number, ssdlab_zone_descriptor *zone);

/**
 * Requests that were submitted and have not completed.
 *
 * # Safety
 * Pointers are null or valid.
 */
ssdlab_status ssdlab_outstanding(const ssdlab_drive *drive, uint64_t *requests);

/**
 * The result up to now as JSON, to the letter as `ssdlab run --json` writes it but for its section `process`. Free it
 * with `ssdlab_string_free`.
 *
 * # Safety
 * Pointers are null or valid.
 */
ssdlab_status ssdlab_result(const ssdlab_drive *drive,
                            char **json);

/**
 * Writes the drive as it stands to a file, a checkpoint, from which `ssdlab_open` goes on (`device` is its path):
 * another run, of the same drive, whose time begins with 0. What is buffered is written to flash first, as at the end
 * of a run. The run goes on afterwards.
 *
 * # Safety
 * Pointers are null or valid, and the path ends with a null byte.
 */
ssdlab_status ssdlab_save(ssdlab_drive *drive,
                          const char *path);

/**
 * Ends the run: checks it, and completes the files that were asked for. Only `ssdlab_last_error` and `ssdlab_free` may
 * follow.
 *
 * # Safety
 * The pointer is null or valid.
 */
ssdlab_status ssdlab_finish(ssdlab_drive *drive);

/**
 * What the drive's last failure was and how to mend it; null if there was none. Free it with `ssdlab_string_free`.
 *
 * # Safety
 * The pointer is null or valid.
 */
char *ssdlab_last_error(const ssdlab_drive *drive);

/**
 * Frees a string that the library gave; null is passed over.
 *
 * # Safety
 * The string is null, or was given by this library and has not been freed.
 */
void ssdlab_string_free(char *string);

/**
 * Frees a drive, finished or not; null is passed over.
 *
 * # Safety
 * The drive is null, or was opened, has not been freed, and no other thread uses it.
 */
void ssdlab_free(ssdlab_drive *drive);

/**
 * Builds the flash of a drive, without host link and FTL, or goes on from a checkpoint of one (`device` is its path).
 * Of the options `warmup`, `requests_out`, `series_out` and `ftl` have no meaning here and are refused. Errors are
 * those of `ssdlab_open`; free it with `ssdlab_media_free`.
 *
 * # Safety
 * As `ssdlab_open`.
 */
ssdlab_status ssdlab_media_open(const ssdlab_options *options,
                                ssdlab_media **media,
                                char **error);

/**
 * Submits `count` commands, in their order: a million in one call are fine. Their numbers follow one another; the
 * first one's is written to `*first`, and to `*submitted` how many were submitted, unless these are null. Where a
 * command is refused, since there is no such page or it comes too late, those before it have been submitted, it and
 * those after it have not; `ssdlab_media_last_error` names it. Commands of one block take effect in their order; what
 * breaks a rule of the chip says so in its completion. Commands of the same time reach their dies together.
 *
 * # Safety
 * Pointers are null or valid; `commands` points to `count` of them.
 */
ssdlab_status ssdlab_media_submit_many(ssdlab_media *media,
                                       const ssdlab_media_command *commands,
                                       size_t count,
                                       uint64_t *first,
                                       size_t *submitted);

/**
 * Plays everything that happens up to and including a time [ns]. Where that lies in the past, nothing happens.
 *
 * # Safety
 * The pointer is null or valid.
 */
ssdlab_status ssdlab_media_advance(ssdlab_media *media,
                                   uint64_t to);

/**
 * Plays until a command has ended that was not taken, or up to a time [ns]; SSDLAB_NEVER is no limit. Whether one has
 * is written to `*completed` unless that is null.
 *
 * # Safety
 * Pointers are null or valid.
 */
ssdlab_status ssdlab_media_advance_to_completion(ssdlab_media *media,
                                                 uint64_t limit,
                                                 bool *completed);

/**
 * Takes ended commands, in the order of their ends, into an array of `room`; how many were taken is written to
 * `*taken`. Others wait.
 *
 * # Safety
 * Pointers are null or valid; `into` has room for `room` completions.
 */
ssdlab_status ssdlab_media_take_completions(ssdlab_media *media,
                                            ssdlab_media_completion *into,
                                            size_t room,
                                            size_t *taken);

/**
 * When something happens next [ns], if nothing is submitted before; SSDLAB_NEVER if nothing does. Nothing ends
 * earlier.
 *
 * # Safety
 * Pointers are null or valid.
 */
ssdlab_status ssdlab_media_next_event(const ssdlab_media *media,
                                      uint64_t *time);

/**
 * The present [ns]: 0 when the flash was opened.
 *
 * # Safety
 * Pointers are null or valid.
 */
ssdlab_status ssdlab_media_now(const ssdlab_media *media, uint64_t *time);

/**
 * Commands that were submitted and have not ended.
 *
 * # Safety
 * Pointers are null or valid.
 */
ssdlab_status ssdlab_media_outstanding(const ssdlab_media *media, uint64_t *commands);

/**
 * What the flash is made of.
 *
 * # Safety
 * Pointers are null or valid.
 */
ssdlab_status ssdlab_media_shape_of(const ssdlab_media *media, ssdlab_media_shape *shape);

/**
 * Writes the whole state to a file, from which `ssdlab_media_open` goes on.
 *
 * # Safety
 * Pointers are null or valid, and the path ends with a null byte.
 */
ssdlab_status ssdlab_media_save(const ssdlab_media *media, const char *path);

/**
 * What the last failure was and how to mend it; null if there was none. Free it with `ssdlab_string_free`.
 *
 * # Safety
 * The pointer is null or valid.
 */
char *ssdlab_media_last_error(const ssdlab_media *media);

/**
 * Frees flash; null is passed over.
 *
 * # Safety
 * It is null, or was opened, has not been freed, and no other thread uses it.
 */
void ssdlab_media_free(ssdlab_media *media);

/**
 * How many pages a block has.
 *
 * # Safety
 * The blocks are those of a callback that has not returned.
 */
uint32_t ssdlab_ftl_blocks_pages(const ssdlab_ftl_blocks *blocks);

/**
 * A block with this many valid pages or more gains nothing.
 *
 * # Safety
 * As `ssdlab_ftl_blocks_pages`.
 */
uint32_t ssdlab_ftl_blocks_limit(const ssdlab_ftl_blocks *blocks);

/**
 * The fewest valid pages that any block has. SSDLAB_FTL_NONE where there is no block, and with gc.victim = "fifo",
 * where the drive keeps the order of filling alone.
 *
 * # Safety
 * As `ssdlab_ftl_blocks_pages`.
 */
uint64_t ssdlab_ftl_blocks_least_valid(const ssdlab_ftl_blocks *blocks);

/**
 * Of the blocks with this many valid pages, the one that has lost none for longest. SSDLAB_FTL_NONE where there is
 * none, and with gc.victim = "fifo".
 *
 * # Safety
 * As `ssdlab_ftl_blocks_pages`.
 */
uint64_t ssdlab_ftl_blocks_oldest(const ssdlab_ftl_blocks *blocks,
                                  uint32_t valid);

/**
 * With gc.victim = "fifo" the block that was filled first; otherwise SSDLAB_FTL_NONE.
 *
 * # Safety
 * As `ssdlab_ftl_blocks_pages`.
 */
uint64_t ssdlab_ftl_blocks_first_filled(const ssdlab_ftl_blocks *blocks);

/**
 * A block at random, by the drive's seed. SSDLAB_FTL_NONE where there is none.
 *
 * # Safety
 * As `ssdlab_ftl_blocks_pages`.
 */
uint64_t ssdlab_ftl_blocks_random(const ssdlab_ftl_blocks *blocks);

/**
 * The valid pages of a block, and in `*age`, unless that is null, the pages programmed on the plane since it last lost
 * one. Of what is no full block SSDLAB_FTL_NONE.
 *
 * # Safety
 * As `ssdlab_ftl_blocks_pages`; `age` is null or valid.
 */
uint64_t ssdlab_ftl_blocks_valid(const ssdlab_ftl_blocks *blocks,
                                 uint32_t number,
                                 uint32_t *age);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* SSDLAB_H */
