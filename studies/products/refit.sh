#!/bin/sh
# The fits of this study: each drive to all of its figures (a preset), and to each half of its jobs (drives/). From the root
# of the repository; some minutes. Shape, link and bus are given (facts/), and the buffer, which no job tells.
set -e
here=studies/products

fit() { # DRIVE CAPACITY OUT [JOB TO BE HELD OUT]…
    drive=$1 capacity=$2 out=$3
    shift 3
    for job in "$@"; do
        set -- "$@" --hold-out "$job"
        shift
    done
    facts=$here/facts/$drive.toml
    for key in geometry.channels geometry.chips geometry.planes bus.bandwidth host.link_bandwidth; do
        value=$(sed -n "/^\[${key%.*}\]/,/^\$/s/^${key#*.} = \"\{0,1\}\([^\" ]*\).*/\1/p" "$facts")
        set -- "$@" --set "$key=$value"
    done
    ssdlab fit-device "$here/measured/$drive.csv" --device "$facts" --capacity "$capacity" --set buffer.size=64MiB \
        --budget 300 --requests 4000 --seeds 1 --threads "${THREADS:-2}" --out "$out" "$@"
}

# A preset is the drive that was fitted to all, with the blocks and the capacity of the product.
preset() { # DRIVE BLOCKS ABOUT
    sed -e "s|^about = .*|about = \"$3: studies/products\"|" -e 's/^pages = 24 .*/pages = 1152 # assumed/' -e "s/^blocks = .*/blocks = $2 # as many as give its capacity/" \
        "$here/drives/$1-all.toml" >"presets/devices/$1.toml"
}

# The halves are dealt as `ssdlab fit-device --folds 2` deals them. No fit sees the steady states: they take too long to be
# played some hundred times.
fit xg6 1024GB $here/drives/xg6-all.toml
fit xg6 1024GB $here/drives/xg6-a.toml read-128k-32 write-128k-32
fit xg6 1024GB $here/drives/xg6-b.toml read-4k-32
preset xg6 "$(sed -n 's/^blocks = \([0-9]*\).*/\1/p' $here/drives/xg6-all.toml)" \
    "Kioxia XG6, a 1-TB client drive (PCIe 3.0 x4), fitted to public figures"
for drive in micron-7500 micron-7600; do
    deep=256
    test $drive = micron-7500 || deep=512
    fit $drive 100GB $here/drives/$drive-all.toml write-4k-256
    fit $drive 100GB $here/drives/$drive-a.toml read-128k-32 write-128k-32 write-4k-256
    fit $drive 100GB $here/drives/$drive-b.toml read-4k-$deep write-4k-256
done
preset micron-7500 1815 "Micron 7500 MAX, 6.4 TB (PCIe 4.0 x4), fitted to what is announced"
preset micron-7600 1815 "Micron 7600 MAX, 6.4 TB (PCIe 5.0 x4), fitted to what is announced"
fit micron-9200 100GB $here/drives/micron-9200-all.toml write-4k-256
fit micron-9200 100GB $here/drives/micron-9200-a.toml read-128k-32 read-4k-256 write-4k-256
fit micron-9200 100GB $here/drives/micron-9200-b.toml read-4k-1 write-128k-32 write-4k-1 write-4k-256
preset micron-9200 907 "Micron 9200 MAX, 6.4 TB (PCIe 3.0 x4), fitted to its data sheet"
