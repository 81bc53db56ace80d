package io.waybill.bench.call;

import io.waybill.api.CallException;
import io.waybill.api.MessageType;
import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.api.ResponseListener;
import io.waybill.api.Value;
import io.waybill.api.tensor.DType;
import io.waybill.api.tensor.Storage;
import io.waybill.api.tensor.Tensor;
import io.waybill.bench.measure.EchoHandler;
import io.waybill.bench.measure.Figures;
import io.waybill.bench.measure.Phase;
import io.waybill.bench.measure.Phases;
import io.waybill.bench.process.ChildProcess;
import io.waybill.host.Host;
import io.waybill.tensor.HostMemory;
import io.waybill.tensor.memory.NativeMemory;
import io.waybill.worker.Worker;
import io.waybill.worker.WorkerSettings;
import io.waybill.worker.peer.FlowLimits;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;

/** A program that joins and calls, as programs of users do. */
public final class WaybillCaller {

    public static final String ROLE = "waybill-caller";

    private static final MessageType TYPE = MessageType.userRequest(0x42);

    private final CallLoad load;
    private final byte[] data;
    private final Request raw; // nothing keeps it beyond a call
    private final Tensor tensor; // null where no call has one

    WaybillCaller(CallLoad load) {
        this.load = load;
        this.data = new byte[load.sizeBytes()];
        this.raw = Request.raw(EchoServer.NAME, TYPE, ByteBuffer.wrap(data), List.of());
        this.tensor = load.form() == CallLoad.Form.TENSOR ? tensor(data) : null;
    }

    /** A tensor in ordinary memory outside the heap, as another library would have it. */
    private static Tensor tensor(byte[] bytes) {
        Storage storage = new HostMemory(new NativeMemory(Host.real().calls())).allocate(bytes.length);
        storage.bytes(0, bytes.length).put(bytes); // which loads its pages
        return Tensor.contiguous(DType.UINT8, new long[] {bytes.length}, storage);
    }

    /** Arguments: see {@link MeasuredSystem}. */
    public static void run(String[] arguments) throws IOException {
        WaybillCaller caller = new WaybillCaller(CallLoad.parse(arguments[1]));
        try (Worker worker = join(arguments[0], arguments[2], Integer.parseInt(arguments[4]), caller.load)) {
            ChildProcess.ready();
            ChildProcess.awaitBegin();
            Phases.Calls calls = caller.load.inFlight() == 1
                    ? Phases.oneByOne(() -> caller.call(worker))
                    : phase -> caller.callInFlight(worker, phase);
            Figures figures = caller.load.phases().measure(Long.parseLong(arguments[3]), calls);
            ChildProcess.report(figures);
            ChildProcess.awaitEnd();
        }
    }

    /** Joins as a program does: all settings but these are the defaults. */
    private static Worker join(String directory, String waiting, int number, CallLoad load) throws IOException {
        WorkerSettings settings = EchoServer.settings(waiting);
        if (load.inFlight() > 1) {
            settings = settings.toBuilder()
                    .limits(FlowLimits.defaults().withCallsPerPeer(load.inFlight()))
                    .build();
        }
        return EchoServer.joinProgram(directory, "bench-caller-" + number, settings);
    }

    Request request() {
        if (load.form() == CallLoad.Form.RAW) {
            return raw;
        }
        Request request = Request.operation(EchoServer.NAME, EchoServer.OPERATION);
        if (tensor != null) {
            request.body().tensor(EchoHandler.FIELD, tensor);
            return request;
        }
        request.body().bytes(EchoHandler.FIELD, ByteBuffer.wrap(data));
        return request;
    }

    /** Calls, and returns what the handler's work took. */
    long call(Worker worker) {
        try (Response response = worker.call(request())) {
            return takenNs(response);
        }
    }

    private long takenNs(Response response) {
        if (tensor != null) {
            requireAll(response.tensor(EchoHandler.FIELD).size(0));
            return 0;
        }
        byte[] given;
        if (load.form() == CallLoad.Form.NAMED) {
            given = ((Value.Binary) response.value(EchoHandler.FIELD)).value();
        } else if (load.work().isNone()) {
            return 0;
        } else {
            given = new byte[load.sizeBytes()];
            response.payload().get(given);
        }
        requireAll(given.length);
        return load.work().takenNs(given);
    }

    private void requireAll(long bytes) {
        if (bytes != data.length) {
            throw new IllegalStateException(
                    "a call of " + EchoServer.NAME + ": expected " + data.length + " bytes back, found " + bytes);
        }
    }

    private long callInFlight(Worker worker, Phase phase) {
        Outcomes outcomes = new Outcomes();
        ResponseListener timed = new Timed(outcomes, phase);
        long calls = 0;
        while (!phase.isOver(calls)) {
            // waits, and polls meanwhile, at the max number in flight
            worker.call(request(), phase.begin(calls) ? timed : outcomes);
            calls++;
        }
        while (outcomes.count() < calls) {
            Thread.onSpinWait();
        }
        if (outcomes.failed.get() > 0) {
            throw new IllegalStateException(outcomes.failed.get() + " calls failed");
        }
        return calls;
    }

    /** Counts outcomes. One thread completes at a time. */
    private final class Outcomes implements ResponseListener {
        private final AtomicLong responded = new AtomicLong();
        private final AtomicLong failed = new AtomicLong();

        @Override
        public void onResponse(Response response) {
            takenNs(response);
            count(responded);
        }

        @Override
        public void onFailure(CallException failure) {
            count(failed);
        }

        void count(AtomicLong counter) {
            counter.lazySet(counter.get() + 1);
        }

        long count() {
            return responded.get() + failed.get();
        }
    }

    /** Times one call at a time. */
    private final class Timed implements ResponseListener {
        private final Outcomes outcomes;
        private final Phase phase;

        Timed(Outcomes outcomes, Phase phase) {
            this.outcomes = outcomes;
            this.phase = phase;
        }

        @Override
        public void onResponse(Response response) {
            phase.end(takenNs(response));
            outcomes.count(outcomes.responded);
        }

        @Override
        public void onFailure(CallException failure) {
            phase.abandon();
            outcomes.onFailure(failure);
        }
    }
}
