package io.waybill.tensor;

import io.waybill.api.tensor.DType;
import io.waybill.api.tensor.Storage;
import io.waybill.api.tensor.Tensor;
import io.waybill.host.NativeCalls;
import io.waybill.tensor.segment.PeerSegments;
import io.waybill.wire.MessageBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import org.agrona.UnsafeApi;

/**
 * Measures what tensors in transit cost on this machine, beside plain copies in the same run. Argument: a directory on the file system to
 * measure.
 */
final class TensorCosts {

    private static final int ROUNDS = 200;

    private static final com.sun.management.ThreadMXBean THREADS =
            (com.sun.management.ThreadMXBean) java.lang.management.ManagementFactory.getThreadMXBean();

    private TensorCosts() {}

    interface Work {
        void run() throws Exception;
    }

    public static void main(String[] arguments) throws Exception {
        Path directory = Files.createTempDirectory(Path.of(arguments[0]), "tensor-costs");
        NoLeaks leaks = new NoLeaks();
        try (Transit transit = new Transit(directory, leaks)) {
            fresh(transit);
            for (int warmUp = 0; warmUp < 2; warmUp++) {
                for (int mib : new int[] {1, 16, 256}) {
                    copies(transit, (long) mib << 20, warmUp == 1);
                }
            }
            smallMessages(transit);
            mappings(transit);
        }
        Files.delete(directory.resolve("segments"));
        Files.delete(directory);
    }

    /** The first use of pages. */
    private static void fresh(Transit transit) throws Exception {
        long size = 256 << 20;
        HostStorage source = transit.host.allocate(size);
        UnsafeApi.setMemory(source.address(), size, (byte) 1);
        Tensor tensor = Tensor.contiguous(DType.UINT8, new long[] {size}, source);
        Storage[] first = new Storage[1];
        long made = time(() -> first[0] = transit.pool.allocate(size));
        long written = time(() -> transit.memory.copy(source.address(), first[0].address(), size));
        System.out.printf(
                "a segment of 256 MiB: made in %,d us, written first in %,d us%n", made / 1000, written / 1000);
        transit.send(tensor);
        transit.sender.receiverGone(Transit.RECEIVER);
        first[0].release();
        source.release();
    }

    private static void copies(Transit transit, long size, boolean print) throws Exception {
        HostStorage source = transit.host.allocate(size);
        HostStorage target = transit.host.allocate(size);
        UnsafeApi.setMemory(source.address(), size, (byte) 1);
        UnsafeApi.setMemory(target.address(), size, (byte) 2);
        NativeCalls calls = NativeCalls.load();
        Tensor tensor = Tensor.contiguous(DType.UINT8, new long[] {size}, source);
        long cold = time(() -> transit.send(tensor));
        transit.sender.receiverGone(Transit.RECEIVER);
        long[] libc = new long[ROUNDS];
        long[] unsafe = new long[ROUNDS];
        long[] region = new long[ROUNDS];
        long[] whole = new long[ROUNDS];
        Plan[] plan = new Plan[1];
        for (int i = 0; i < ROUNDS; i++) {
            libc[i] = time(() -> calls.copy(source.address(), target.address(), size));
        }
        for (int i = 0; i < ROUNDS; i++) {
            unsafe[i] = time(() -> UnsafeApi.copyMemory(source.address(), target.address(), size));
        }
        for (int i = 0; i < ROUNDS; i++) {
            region[i] = time(
                    () -> plan[0] = transit.sender.plan(java.util.List.of(tensor), Transit.RECEIVER, Transit.SAME));
            plan[0].abandoned();
        }
        for (int i = 0; i < ROUNDS; i++) {
            whole[i] = time(() -> transit.receive(transit.send(tensor)).release());
        }
        Storage own = transit.pool.allocate(size);
        Tensor ownTensor = Tensor.contiguous(DType.UINT8, new long[] {size}, own);
        long[] leased = new long[ROUNDS];
        for (int i = 0; i < ROUNDS; i++) {
            leased[i] = time(() -> transit.receive(transit.send(ownTensor)).release());
        }
        own.release();
        source.release();
        target.release();
        if (print) {
            System.out.printf(
                    "%4d MiB: first %,d us; memcpy %,d us, copyMemory %,d us, into region %,d us (ratio %.2f), "
                            + "send+receive+release %,d us, lent %,d us%n",
                    size >> 20,
                    cold / 1000,
                    median(libc) / 1000,
                    median(unsafe) / 1000,
                    median(region) / 1000,
                    (double) median(region) / median(libc),
                    median(whole) / 1000,
                    median(leased) / 1000);
        }
    }

    private static void smallMessages(Transit transit) throws Exception {
        HostStorage four = transit.filled(4);
        HostStorage eightKib = transit.filled(8192);
        MessageBuffer record = new MessageBuffer();
        for (Storage storage : new Storage[] {four, eightKib}) {
            Tensor tensor = Tensor.contiguous(DType.UINT8, new long[] {storage.sizeBytes()}, storage);
            java.util.List<Tensor> list = java.util.List.of(tensor);
            Work work = () -> {
                for (int i = 0; i < 10_000; i++) {
                    Plan plan = transit.sender.plan(list, Transit.RECEIVER, Transit.SAME);
                    record.begin(io.waybill.api.MessageType.SCRIPT_CALL, 1, 1, 2, 64, plan.sectionLength(64));
                    record.tensorCount(1);
                    plan.write(record, 64);
                    plan.committed();
                    transit.receiver
                            .decode(new io.waybill.wire.RecordView(record), transit.peer)
                            .release();
                }
            };
            long[] times = new long[50];
            long allocated = 0;
            for (int i = 0; i < times.length; i++) {
                long before = THREADS.getCurrentThreadAllocatedBytes();
                times[i] = time(work);
                allocated = THREADS.getCurrentThreadAllocatedBytes() - before;
                transit.returned.all.clear();
            }
            Arrays.sort(times);
            System.out.printf(
                    "%d bytes: plan, write, decode and release %d ns (best %d), %d bytes of heap%n",
                    storage.sizeBytes(), median(times) / 10_000, times[0] / 10_000, allocated / 10_000);
        }
        four.release();
        eightKib.release();
    }

    /** What the first use of a mapping costs, and what dropping private pages costs. */
    private static void mappings(Transit transit) throws Exception {
        for (int mib : new int[] {1, 16}) {
            long size = (long) mib << 20;
            Storage own = transit.pool.allocate(size);
            Transit.fill(own, 0);
            Tensor tensor = Tensor.contiguous(DType.UINT8, new long[] {size}, own);
            long[] mapped = new long[20];
            long[] firstRead = new long[20];
            long[] nextRead = new long[20];
            long[] write = new long[20];
            long[] drop = new long[20];
            for (int i = 0; i < mapped.length; i++) {
                MessageBuffer record = transit.send(tensor);
                ReceivedTensors[] received = new ReceivedTensors[1];
                PeerSegments fresh = transit.receiver.peer(Transit.SENDER, transit.segments);
                mapped[i] = time(() -> received[0] = transit.receiver.decode(Transit.checked(record), fresh));
                Storage storage = received[0].tensors().get(0).storage();
                firstRead[i] = time(() -> touch(storage.readAddress(), size));
                nextRead[i] = time(() -> touch(storage.readAddress(), size));
                write[i] = time(() -> UnsafeApi.setMemory(storage.address(), size, (byte) 3));
                drop[i] = time(received[0]::release);
                fresh.close();
            }
            own.release();
            System.out.printf(
                    "%d MiB mapping: decode with open+mmap %,d ns; read first %,d us, again %,d us; "
                            + "write all (copies pages) %,d us; release with madvise %,d us%n",
                    mib,
                    median(mapped),
                    median(firstRead) / 1000,
                    median(nextRead) / 1000,
                    median(write) / 1000,
                    median(drop) / 1000);
        }
    }

    private static long touch(long address, long size) {
        long sum = 0;
        for (long at = 0; at < size; at += 4096) {
            sum += UnsafeApi.getByte(address + at);
        }
        return sum;
    }

    private static long time(Work work) throws Exception {
        long start = System.nanoTime();
        work.run();
        return System.nanoTime() - start;
    }

    private static long median(long[] times) {
        long[] sorted = times.clone();
        Arrays.sort(sorted);
        return sorted[sorted.length / 2];
    }
}
