//! The drive's health as NVMe reports it, where its blocks may fail.

use super::super::Measured;
use super::statistic::Report;

pub(super) fn add(report: &mut Report, measured: &Measured) {
    if !measured.drive.plan.config.blocks_fail() {
        return;
    }
    let smart = &measured.drive.smart;
    report.add(
        "smart.critical_warning",
        "",
        "bits of NVMe's critical warning at the end: 1 little spare is left, 4 the drive is used up, 8 it is read-only",
        smart.critical_warning(),
    );
    let what = "spare blocks left at the end, of those beyond what data and collection need that the new drive had";
    report.add("smart.available_spare", "%", what, smart.available_spare);
    let what = "available spare below which the drive warns (wear.spare_threshold)";
    report.add("smart.available_spare_threshold", "%", what, smart.available_spare_threshold);
    let what = "mean P/E cycles of a block at the end over wear.endurance; null where that is \"none\"";
    report.add("smart.percentage_used", "%", what, smart.percentage_used);
    let what =
        "pages read, for the host or by the drive itself, that could not be corrected, since the start of the device";
    report.add("smart.media_errors", "flash pages", what, smart.media_errors);
}
