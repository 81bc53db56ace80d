package io.waybill.cli.doctor;

import java.util.Arrays;
import java.util.Locale;
import java.util.OptionalLong;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Checks kernel, processors, memory, limits and clocks. Stateless. */
final class HostCheck {

    private static final Pattern RELEASE = Pattern.compile("(\\d{1,4})\\.(\\d{1,4}).*", Pattern.DOTALL);
    private static final int OLDEST_MAJOR = 5;
    private static final int OLDEST_MINOR = 3; // pidfd_open
    private static final long MIN_OPEN_FILES = 4096;
    private static final long MIN_MAPPINGS = 65_530;
    private static final double MIN_PROCESSORS = 1;
    private static final String UNKNOWN = "unknown: this system does not say";

    private final Diagnoses findings;
    private final HostFiles files;

    private HostCheck(Diagnoses findings, HostFiles files) {
        this.findings = findings;
        this.files = files;
    }

    /**
     * Adds the results.
     *
     * @param processors number of processors that the JVM may use
     */
    static void run(Diagnoses findings, HostFiles files, int processors) {
        HostCheck check = new HostCheck(findings, files);
        check.kernel();
        check.processors(processors);
        check.memory();
        check.openFiles();
        check.mappings();
        check.lockedMemory();
        check.clock();
        check.timeNamespace();
    }

    private void kernel() {
        String release = files.line("proc/sys/kernel/osrelease");
        Matcher matcher = RELEASE.matcher(release);
        if (!matcher.matches()) {
            findings.add(Health.WARNING, "kernel", UNKNOWN, "mount /proc; Waybill needs Linux 5.3 or newer");
            return;
        }
        int major = Integer.parseInt(matcher.group(1));
        int minor = Integer.parseInt(matcher.group(2));
        if (major < OLDEST_MAJOR || major == OLDEST_MAJOR && minor < OLDEST_MINOR) {
            findings.add(
                    Health.WARNING,
                    "kernel",
                    "Linux " + release,
                    "use Linux 5.3 or newer: on older ones the end of a worker is noticed later");
        } else {
            findings.ok("kernel", "Linux " + release);
        }
    }

    private void processors(int processors) {
        double quota = quota();
        String found = processors + " for this process"
                + (quota > 0 ? String.format(Locale.ROOT, ", quota of its control group %.2f", quota) : ", no quota");
        if (quota > 0 && quota < MIN_PROCESSORS) {
            findings.add(
                    Health.WARNING,
                    "processors",
                    found,
                    "give the group 1 or more (docker run --cpus, Kubernetes limits.cpu): below that, every thread stops for"
                            + " a part of each period");
        } else {
            findings.ok("processors", found);
        }
    }

    /** Returns the number of processors that the control group may use; 0 if there is no quota. */
    private double quota() {
        for (String line : files.text("proc/self/cgroup").split("\n")) {
            String[] parts = line.split(":", 3);
            if (parts.length == 3 && parts[1].isEmpty()) {
                String[] max = file("sys/fs/cgroup", parts[2], "cpu.max").split(" ");
                if (max.length == 2 && isNumber(max[0]) && isNumber(max[1])) {
                    return Double.parseDouble(max[0]) / Math.max(1, Double.parseDouble(max[1]));
                }
            } else if (parts.length == 3 && Arrays.asList(parts[1].split(",")).contains("cpu")) {
                String directory = "sys/fs/cgroup/cpu";
                String used = file(directory, parts[2], "cpu.cfs_quota_us");
                String period = file(directory, parts[2], "cpu.cfs_period_us");
                if (isNumber(used) && isNumber(period)) {
                    return Double.parseDouble(used) / Math.max(1, Double.parseDouble(period));
                }
            }
        }
        return 0;
    }

    /** Reads a file of a group; in a container the group may be the root of the mount. */
    private String file(String mount, String group, String name) {
        String own = files.line(mount + group.replaceAll("/+$", "") + "/" + name);
        return own.isEmpty() ? files.line(mount + "/" + name) : own;
    }

    private static boolean isNumber(String text) {
        return text.matches("[0-9]{1,15}");
    }

    private void memory() {
        Matcher available = Pattern.compile("MemAvailable: +(\\d{1,15}) kB").matcher(files.text("proc/meminfo"));
        findings.ok(
                "memory",
                available.find() ? Sizes.text(Long.parseLong(available.group(1)) << 10) + " available" : UNKNOWN);
    }

    private void openFiles() {
        String max = limit("Max open files");
        if (isNumber(max) && Long.parseLong(max) < MIN_OPEN_FILES) {
            findings.add(
                    Health.WARNING,
                    "open files",
                    max + " at most",
                    "raise the hard limit to 4096 or more (ulimit -Hn, LimitNOFILE= of systemd): a worker needs some for"
                            + " each peer");
        } else {
            findings.ok("open files", max.isEmpty() ? UNKNOWN : max + " at most");
        }
    }

    /** Returns the hard limit, to which the JVM raises its soft limit. */
    private String limit(String name) {
        for (String line : files.text("proc/self/limits").split("\n")) {
            if (line.startsWith(name)) {
                String[] values = line.substring(name.length()).strip().split(" +");
                return values.length > 1 ? values[1] : "";
            }
        }
        return "";
    }

    private void mappings() {
        OptionalLong max = files.number("proc/sys/vm/max_map_count");
        if (max.isPresent() && max.getAsLong() < MIN_MAPPINGS) {
            findings.add(
                    Health.WARNING,
                    "memory maps",
                    max.getAsLong() + " at most",
                    "sysctl -w vm.max_map_count=65530: each queue file and segment of each peer is one or more");
        } else {
            findings.ok("memory maps", max.isPresent() ? max.getAsLong() + " at most" : UNKNOWN);
        }
    }

    private void lockedMemory() {
        String max = limit("Max locked memory");
        findings.ok(
                "locked memory",
                max.isEmpty()
                        ? UNKNOWN
                        : (isNumber(max) ? Sizes.text(Long.parseLong(max)) : max) + " at most; not used");
    }

    private void clock() {
        String source = files.line("sys/devices/system/clocksource/clocksource0/current_clocksource");
        boolean isSlow = source.equals("hpet") || source.equals("acpi_pm") || source.equals("jiffies");
        if (isSlow) {
            findings.add(
                    Health.WARNING,
                    "clock",
                    source + ": each look at it is a system call of a microsecond",
                    "find out why the kernel gave up tsc: dmesg | grep -i tsc");
        } else {
            findings.ok("clock", source.isEmpty() ? UNKNOWN : source);
        }
    }

    private void timeNamespace() {
        boolean isShifted = files.text("proc/self/timens_offsets")
                .lines()
                .anyMatch(line -> !line.strip().matches("\\w+ +0 +0"));
        findings.ok("time namespace", isShifted ? "its own: times in shared files are the host's" : "the host's");
    }
}
