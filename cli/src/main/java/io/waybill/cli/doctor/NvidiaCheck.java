package io.waybill.cli.doctor;

import java.nio.file.Files;
import java.util.List;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * Checks NVIDIA's driver through the kernel module and the loader. Loads no library, and queries no device.
 *
 * <p><b>Threads.</b> Stateless.
 */
final class NvidiaCheck {

    private static final String LIBRARY = "libcuda.so.1";
    private static final Pattern IN_CACHE = Pattern.compile("/([!-~]{1,400}/" + Pattern.quote(LIBRARY) + ")\0");
    private static final List<String> DIRECTORIES =
            List.of("usr/lib/x86_64-linux-gnu", "usr/lib64", "lib64", "usr/lib", "usr/lib/wsl/lib");
    private static final Pattern VERSION = Pattern.compile("Kernel Module[^0-9]*(\\d{1,5})((?:\\.\\d{1,5})+)");
    private static final Pattern MODEL = Pattern.compile("Model:\\s*(\\S.*)");
    private static final Pattern MINOR = Pattern.compile("Device Minor:\\s*(\\d{1,4})");
    private static final int OLDEST = 525; // the first driver for CUDA 12
    private static final String WITHOUT = "; all else works without";

    private final Diagnoses findings;
    private final HostFiles files;

    private NvidiaCheck(Diagnoses findings, HostFiles files) {
        this.findings = findings;
        this.files = files;
    }

    /** Adds the results. */
    static void run(Diagnoses findings, HostFiles files) {
        NvidiaCheck check = new NvidiaCheck(findings, files);
        Optional<String> library = check.library();
        boolean hasModule = files.exists("proc/driver/nvidia/version");
        if (library.isEmpty() && !hasModule && check.deviceFiles().isEmpty()) {
            findings.add(
                    Health.NOTE,
                    "nvidia driver",
                    "none",
                    "install NVIDIA's driver, 525 or newer, for tensors on GPUs; in a container, give it the GPUs (docker run"
                            + " --gpus all)" + WITHOUT);
            return;
        }
        check.module(hasModule);
        check.library(library);
        check.devices();
    }

    private void module(boolean isThere) {
        Matcher version = VERSION.matcher(files.text("proc/driver/nvidia/version"));
        if (!isThere) {
            findings.add(
                    Health.WARNING,
                    "nvidia driver",
                    "its kernel module is not loaded",
                    "modprobe nvidia; if that fails, install the driver for this kernel" + WITHOUT);
        } else if (!version.find()) {
            findings.add(
                    Health.WARNING,
                    "nvidia driver",
                    "of an unknown version: /proc/driver/nvidia/version",
                    "CUDA 12 needs 525 or newer");
        } else if (Integer.parseInt(version.group(1)) < OLDEST) {
            findings.add(
                    Health.WARNING,
                    "nvidia driver",
                    version.group(1) + version.group(2),
                    "install 525 or newer, which CUDA 12 needs" + WITHOUT);
        } else {
            findings.ok("nvidia driver", version.group(1) + version.group(2));
        }
    }

    private void library(Optional<String> library) {
        if (library.isPresent()) {
            findings.ok(LIBRARY, library.get());
        } else {
            findings.add(
                    Health.WARNING,
                    LIBRARY,
                    "not in the loader's cache or the usual directories",
                    "install the driver's libraries (Debian: libcuda1) and run ldconfig; in a container, give it"
                            + " NVIDIA_DRIVER_CAPABILITIES=compute" + WITHOUT);
        }
    }

    /** Finds the library in the loader's search path. */
    private Optional<String> library() {
        Stream<String> cached =
                IN_CACHE.matcher(files.text("etc/ld.so.cache")).results().map(found -> found.group(1));
        return Stream.concat(cached, DIRECTORIES.stream().map(directory -> directory + "/" + LIBRARY))
                .filter(path -> Files.exists(files.at(path)))
                .map(path -> "/" + path)
                .findFirst();
    }

    private List<String> deviceFiles() {
        return files.names("dev").stream()
                .filter(name -> name.matches("nvidia[0-9]{1,4}"))
                .toList();
    }

    private void devices() {
        List<String> slots = files.names("proc/driver/nvidia/gpus");
        for (String slot : slots) {
            String text = files.text("proc/driver/nvidia/gpus/" + slot + "/information");
            Matcher model = MODEL.matcher(text);
            Matcher minor = MINOR.matcher(text);
            device(
                    "nvidia" + (minor.find() ? minor.group(1) : "0"),
                    model.find() ? model.group(1) : "GPU in slot " + slot);
        }
        if (slots.isEmpty()) {
            findings.add(
                    Health.WARNING,
                    "nvidia devices",
                    "none",
                    "check with lspci and dmesg that the GPU is there; in a container, give it the GPUs" + WITHOUT);
            return;
        }
        for (String shared : List.of("nvidiactl", "nvidia-uvm")) {
            file("/dev/" + shared, "");
        }
    }

    private void device(String file, String model) {
        file("/dev/" + file, ": " + model);
    }

    private void file(String path, String model) {
        String below = path.substring(1);
        if (!files.exists(below)) {
            findings.add(
                    Health.WARNING,
                    path,
                    "not there" + model,
                    "nvidia-modprobe -u -c=0 makes it; in a container, give it the GPUs" + WITHOUT);
        } else if (!files.isUsable(below)) {
            findings.add(
                    Health.WARNING,
                    path,
                    "may not be read and written" + model,
                    "ask for the permission: ls -l " + path + " shows the group that has it" + WITHOUT);
        } else {
            findings.ok(path, "may be used" + model);
        }
    }
}
