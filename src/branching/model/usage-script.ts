/**
 * Bytes that a branch holds for itself. On a filesystem that shares extents the answer is the extents that nobody shares
 * (FIEMAP), which no size of a file tells; elsewhere it is what the writable layer has allocated.
 */
import { reflinkDataFolder, writableMount } from "./branch-script.ts";
import type { LayoutKind } from "./records.ts";

/** Walks a folder and adds up extents without the SHARED flag; 56-byte extents behind a 32-byte head, 256 at a time. */
const fiemapProgram = `
use strict; my $total = 0;
sub extents { my ($path) = @_; open(my $file, "<", $path) or return; my $start = 0;
  while (1) {
    my $map = pack("QQLLLL", $start, ~0, 1, 0, 256, 0) . ("\\0" x (56 * 256));
    ioctl($file, 0xC020660B, $map) or last;
    my $count = (unpack("QQLLLL", $map))[3]; last unless $count; my $last = 0;
    for my $index (0 .. $count - 1) {
      my ($logical, $physical, $length, $r1, $r2, $flags) = unpack("QQQQQL", substr($map, 32 + 56 * $index, 56));
      $total += $length unless $flags & 0x2000; $start = $logical + $length; $last = 1 if $flags & 1;
    }
    last if $last;
  } close($file); }
sub walk { my ($folder) = @_; opendir(my $handle, $folder) or return;
  for my $name (readdir($handle)) { next if $name eq "." || $name eq ".."; my $path = "$folder/$name";
    next if -l $path; if (-d _) { walk($path) } elsif (-f _) { extents($path) } } closedir($handle); }
walk($ARGV[0]); print "$total\\n";`;

export function listUsageArgv(layout: LayoutKind, clonesExtents: boolean): readonly string[] {
  const folder = layout === "overlay" ? `${writableMount}/upper` : reflinkDataFolder;
  const allocated = `du -sk ${folder} | { read -r size rest; echo $((size * 1024)); }`;
  if (!clonesExtents) return ["sh", "-c", allocated];
  return [
    "sh",
    "-c",
    `if command -v perl >/dev/null; then perl -e "$1" ${folder}; else ${allocated}; fi`,
    "usage",
    fiemapProgram,
  ];
}
