/* An FTL of one's own in C, and the drive's own beside it: docs/own-ftl.md. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ssdlab.h>

enum { WRITES = 30000, DEPTH = 32, BLOCK = 16384 };

/* Any page may be anywhere: a map, the plane that an address is dealt to, and greedy collection. */
typedef struct {
    uint64_t pages, places[];
} page_mapped;

static void *create(void *user, const ssdlab_ftl_layout *drive)
{
    (void)user;
    page_mapped *ftl = malloc(sizeof *ftl + drive->logical_pages * sizeof *ftl->places);
    if (!ftl)
        return NULL;
    ftl->pages = drive->logical_pages;
    for (uint64_t lpn = 0; lpn < ftl->pages; lpn++)
        ftl->places[lpn] = SSDLAB_FTL_NONE;
    return ftl;
}

static int32_t write_page(void *self, uint64_t lpn, uint16_t hint, uint32_t dealt, uint32_t *plane, uint16_t *stream)
{
    (void)self, (void)lpn, (void)hint, (void)stream;
    *plane = dealt;
    return 0;
}

static int32_t placed(void *self, uint64_t lpn, uint64_t ppn, bool moved)
{
    (void)moved;
    ((page_mapped *)self)->places[lpn] = ppn;
    return 0;
}

static int32_t trimmed(void *self, uint64_t lpn)
{
    return placed(self, lpn, SSDLAB_FTL_NONE, false);
}

static int32_t locate(void *self, uint64_t lpn, uint64_t *ppn)
{
    *ppn = ((page_mapped *)self)->places[lpn];
    return 0;
}

static int32_t reclaim(void *self, uint32_t plane, const ssdlab_ftl_blocks *blocks, uint64_t *block)
{
    (void)self, (void)plane;
    uint64_t valid = ssdlab_ftl_blocks_least_valid(blocks);
    if (valid < ssdlab_ftl_blocks_limit(blocks))
        *block = ssdlab_ftl_blocks_oldest(blocks, (uint32_t)valid);
    return 0;
}

static int32_t save(void *self, uint8_t *into, size_t room, size_t *size)
{
    page_mapped *ftl = self;
    *size = ftl->pages * sizeof *ftl->places;
    if (room >= *size)
        memcpy(into, ftl->places, *size);
    return 0;
}

static int32_t load(void *self, const uint8_t *state, size_t size)
{
    page_mapped *ftl = self;
    if (size != ftl->pages * sizeof *ftl->places)
        return 1;
    memcpy(ftl->places, state, size);
    return 0;
}

static const ssdlab_ftl MINE = {.name = "page-mapped 1", .create = create, .destroy = free, .write = write_page,
                                .placed = placed, .trimmed = trimmed, .locate = locate, .reclaim = reclaim,
                                .save = save, .load = load};

static void check(ssdlab_drive *drive, ssdlab_status status)
{
    if (status == SSDLAB_STATUS_OK)
        return;
    char *why = ssdlab_last_error(drive);
    fprintf(stderr, "%s\n", why ? why : "a null pointer");
    exit(1);
}

/* Random writes and a read after each third; the result. */
static char *run(const ssdlab_ftl *ftl)
{
    const char *settings[] = {"geometry.channels=2", "geometry.chips=1", "geometry.dies=1", "geometry.blocks=40",
                              "geometry.pages=48", "ftl.over_provisioning=0.8", "ftl.placement=static",
                              "gc.victim=greedy", "buffer.size=2MiB"};
    ssdlab_options options = ssdlab_defaults();
    options.settings = settings;
    options.setting_count = sizeof settings / sizeof *settings;
    options.ftl = ftl;
    ssdlab_drive *drive;
    char *error, *json;
    if (ssdlab_open(&options, &drive, &error) != SSDLAB_STATUS_OK)
        exit((fprintf(stderr, "%s\n", error), 1));
    uint64_t capacity, now = 0, waiting;
    check(drive, ssdlab_capacity(drive, &capacity));
    for (uint64_t number = 0; number < WRITES; number++) {
        uint64_t block = ((number + 1) * 0x9e3779b97f4a7c15u >> 20) % (capacity / BLOCK);
        ssdlab_request ours = {.time = now, .offset = block * BLOCK, .bytes = BLOCK, .op = SSDLAB_WRITE};
        if (number % 3 == 2)
            ours.op = SSDLAB_READ;
        check(drive, ssdlab_submit(drive, &ours, NULL));
        for (check(drive, ssdlab_outstanding(drive, &waiting)); waiting >= DEPTH;
             check(drive, ssdlab_outstanding(drive, &waiting))) {
            ssdlab_completion done[DEPTH];
            size_t taken;
            check(drive, ssdlab_advance_to_completion(drive, SSDLAB_NEVER, NULL));
            check(drive, ssdlab_take_completions(drive, done, DEPTH, &taken));
        }
        check(drive, ssdlab_now(drive, &now));
    }
    check(drive, ssdlab_result(drive, &json));
    check(drive, ssdlab_finish(drive));
    ssdlab_free(drive);
    return json;
}

int main(void)
{
    char *mine = run(&MINE), *theirs = run(NULL);
    const char *of = "\"waf\":";
    char *at = strstr(mine, of);
    double waf = at ? strtod(at + strlen(of), NULL) : 0;
    /* What was measured stands behind what was asked for. */
    char *here = strstr(mine, "\"warnings\":"), *there = strstr(theirs, "\"warnings\":");
    bool same = here && there && strcmp(here, there) == 0;
    printf("write amplification %.2f, %s as of the drive's own\n", waf, same ? "the same to the last digit" : "not");
    ssdlab_string_free(mine);
    ssdlab_string_free(theirs);
    return same ? 0 : 1;
}
