/* A program with its own clock and its own events that drives a simulated SSD: docs/embedding.md. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <ssdlab.h>

enum { REQUESTS = 2000, BLOCK = 16384, GAP_NS = 100000, ROOM = 16 };

static ssdlab_drive *drive;

static void check(ssdlab_status status)
{
    if (status == SSDLAB_STATUS_OK)
        return;
    char *why = ssdlab_last_error(drive);
    fprintf(stderr, "%s\n", why ? why : "a null pointer");
    exit(1);
}

/* Two reads of random blocks, then a write: one each 100 us. */
static ssdlab_request request(uint64_t number, uint64_t blocks)
{
    uint64_t random = (number + 1) * 0x9e3779b97f4a7c15u >> 20;
    ssdlab_request made = {.time = number * GAP_NS, .offset = random % blocks * BLOCK, .bytes = BLOCK};
    made.op = number % 3 == 2 ? SSDLAB_WRITE : SSDLAB_READ;
    return made;
}

int main(int argc, char **argv)
{
    const char *settings[] = {"buffer.size=4MiB"};
    ssdlab_options options = ssdlab_defaults();
    options.device = "asplos21";
    options.scheme = "pnar2";
    options.age = "pec=2000,retention=6mo";
    options.settings = settings;
    options.setting_count = 1;
    options.requests_out = argc > 1 ? argv[1] : NULL;
    char *error, *json;
    if (ssdlab_open(&options, &drive, &error) != SSDLAB_STATUS_OK)
        return fprintf(stderr, "%s\n", error), 1;

    uint64_t capacity, submitted = 0, completed = 0, waited = 0, next, now = 0;
    check(ssdlab_capacity(drive, &capacity));
    while (completed < REQUESTS) {
        /* What happens next: something in the drive, or a request of ours. */
        uint64_t arrival = submitted < REQUESTS ? request(submitted, capacity / BLOCK).time : SSDLAB_NEVER;
        check(ssdlab_next_event(drive, &next));
        now = next < arrival ? next : arrival;
        check(ssdlab_advance(drive, now));
        if (now == arrival) {
            ssdlab_request ours = request(submitted++, capacity / BLOCK);
            check(ssdlab_submit(drive, &ours, NULL));
        }
        ssdlab_completion done[ROOM];
        size_t taken;
        do {
            check(ssdlab_take_completions(drive, done, ROOM, &taken));
            for (size_t i = 0; i < taken; i++)
                waited += done[i].finish - done[i].time;
            completed += taken;
        } while (taken == ROOM);
    }
    printf("%" PRIu64 " requests in %" PRIu64 " us, mean latency %" PRIu64 " ns\n", completed, now / 1000, waited / completed);
    check(ssdlab_result(drive, &json));
    if (argc > 2) {
        FILE *file = fopen(argv[2], "w");
        if (!file || fputs(json, file) < 0 || fclose(file))
            return perror(argv[2]), 1;
    }
    ssdlab_string_free(json);
    check(ssdlab_finish(drive));
    ssdlab_free(drive);
    return 0;
}
