/* Flash without a drive: a host that erases, programs and reads pages by their places: docs/embedding.md. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <ssdlab.h>

enum { READS = 100000, ROOM = 4096 };

static ssdlab_media *media;

static void check(ssdlab_status status)
{
    if (status == SSDLAB_STATUS_OK)
        return;
    char *why = ssdlab_media_last_error(media);
    fprintf(stderr, "%s\n", why ? why : "a null pointer");
    exit(1);
}

static ssdlab_media_command command(uint64_t time, uint8_t op, uint32_t die, uint32_t plane, uint32_t block, uint32_t page)
{
    return (ssdlab_media_command){.time = time, .op = op, .die = die, .plane = plane, .block = block, .page = page};
}

/* Plays until all has ended; the time of the last end, and the sum of retries. */
static uint64_t play(uint64_t *retries)
{
    static ssdlab_media_completion done[ROOM];
    uint64_t last = 0;
    bool any;
    for (check(ssdlab_media_advance_to_completion(media, SSDLAB_NEVER, &any)); any;
         check(ssdlab_media_advance_to_completion(media, SSDLAB_NEVER, &any))) {
        size_t taken;
        check(ssdlab_media_take_completions(media, done, ROOM, &taken));
        for (size_t i = 0; i < taken; i++) {
            last = done[i].finish;
            *retries += done[i].retries;
            if (done[i].status == SSDLAB_MEDIA_OUT_OF_ORDER)
                printf("command %" PRIu64 ": page %" PRIu32 " comes next\n", done[i].id, done[i].next_page);
            else if (done[i].status != SSDLAB_MEDIA_SUCCESS)
                printf("command %" PRIu64 ": status %d\n", done[i].id, done[i].status);
        }
    }
    return last;
}

int main(void)
{
    ssdlab_options options = ssdlab_defaults();
    options.device = "hbf";
    options.scheme = "rif";
    options.age = "pec=1000,retention=6mo";
    char *error;
    if (ssdlab_media_open(&options, &media, &error) != SSDLAB_STATUS_OK)
        return fprintf(stderr, "%s\n", error), 1;
    ssdlab_media_shape shape;
    check(ssdlab_media_shape_of(media, &shape));

    /* Weights are read in one batch: pages of all planes of all dies. */
    static ssdlab_media_command reads[READS];
    for (uint32_t i = 0; i < READS; i++) {
        uint32_t die = i % shape.dies, plane = i / shape.dies % shape.planes, rest = i / shape.dies / shape.planes;
        reads[i] = command(0, SSDLAB_MEDIA_READ, die, plane, rest / shape.pages, rest % shape.pages);
    }
    uint64_t retries = 0;
    check(ssdlab_media_submit_many(media, reads, READS, NULL, NULL));
    uint64_t ns = play(&retries);
    printf("%d pages in %" PRIu64 " us: %.0f GB/s, %" PRIu64 " retries\n", READS, ns / 1000,
           (double)READS * (double)shape.page_size / (double)ns, retries);

    /* A block is written again; its third page too early. */
    ssdlab_media_command writes[] = {
        command(ns, SSDLAB_MEDIA_ERASE, 0, 0, 7, 0),
        command(ns, SSDLAB_MEDIA_PROGRAM, 0, 0, 7, 0),
        command(ns, SSDLAB_MEDIA_PROGRAM, 0, 0, 7, 2),
        command(ns, SSDLAB_MEDIA_READ, 0, 0, 7, 0),
    };
    check(ssdlab_media_submit_many(media, writes, 4, NULL, NULL));
    printf("erased, programmed and read in %" PRIu64 " us\n", (play(&retries) - ns) / 1000);
    ssdlab_media_free(media);
    return 0;
}
