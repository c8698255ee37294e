#!/bin/sh
# The fits of this study: each drive to all of its figures (a preset), and to each half of its jobs (drives/). From the root
# of the repository; some minutes. No job tells how large a buffer is.
set -e
here=studies/products

fit() { # DRIVE CAPACITY CHANNELS CHIPS PLANES OUT [JOB TO BE HELD OUT]…
    drive=$1 capacity=$2 channels=$3 chips=$4 planes=$5 out=$6
    shift 6
    for job in "$@"; do
        set -- "$@" --hold-out "$job"
        shift
    done
    ssdlab fit-device "$here/measured/$drive.csv" --device "$here/facts/$drive.toml" --capacity "$capacity" \
        --set "geometry.channels=$channels" --set "geometry.chips=$chips" --set "geometry.planes=$planes" \
        --set buffer.size=64MiB --budget 500 --requests 4000 --seeds 1 --threads "${THREADS:-2}" --out "$out" "$@" >"/tmp/$(basename "$out" .toml).log"
}

# The halves are dealt as `ssdlab fit-device --folds 2` deals them.
xg6="xg6 1024GB 8 2 2"
fit $xg6 presets/devices/xg6.toml
fit $xg6 $here/drives/xg6-a.toml read-128k-32 write-128k-32
fit $xg6 $here/drives/xg6-b.toml read-4k-32
m9200="micron-9200 6400GB 16 8 4"
fit $m9200 presets/devices/micron-9200.toml
fit $m9200 $here/drives/micron-9200-a.toml read-128k-32 read-4k-256 write-4k-256
fit $m9200 $here/drives/micron-9200-b.toml read-4k-1 write-128k-32 write-4k-1
for drive in micron-7500 micron-7600; do
    deep=256
    test $drive = micron-7500 || deep=512
    fit $drive 6400GB 8 8 4 presets/devices/$drive.toml
    fit $drive 6400GB 8 8 4 $here/drives/$drive-a.toml read-128k-32 write-128k-32
    fit $drive 6400GB 8 8 4 $here/drives/$drive-b.toml read-4k-$deep write-4k-256
done
