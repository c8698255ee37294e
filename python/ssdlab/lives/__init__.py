"""Lives of drives, epoch by epoch, and fleets of them."""
