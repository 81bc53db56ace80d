package io.waybill.cli.call;

import io.waybill.api.CallException;
import io.waybill.api.Invocation;
import io.waybill.api.MessageType;
import io.waybill.api.Request;
import io.waybill.api.Response;
import io.waybill.api.context.CallContext;
import io.waybill.api.context.TraceContext;
import io.waybill.cli.argument.ArgumentException;
import io.waybill.cli.argument.CallArguments;
import io.waybill.cli.argument.TensorFiles;
import io.waybill.cli.command.CommandFailedException;
import io.waybill.cli.command.DurationOption;
import io.waybill.cli.command.HomeOption;
import io.waybill.cli.command.Progress;
import io.waybill.cli.command.Surroundings;
import io.waybill.cli.command.UsageException;
import io.waybill.dispatch.HandlerKey;
import io.waybill.home.Home;
import io.waybill.home.PeerState;
import io.waybill.host.Host;
import io.waybill.host.Threads;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.function.Supplier;
import java.util.regex.Pattern;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code waybill call}: makes one call and shows its result. */
@Command(
        mixinStandardHelpOptions = true,
        name = "call",
        header = "Calls a worker and shows the result.",
        description = {
            "",
            "OPERATION is an operator of libtorch, with or without its overload (aten::mm, aten::add.Tensor), a function of a"
                    + " script (math.scale), a function of a Python module (statistics:mean), or an operation by name that a bundle"
                    + " serves (text.count). A name that WORKER serves as both is the operation; function:math.scale is the"
                    + " function in any case. A type of your own is called with --type and --payload.",
            ""
        },
        footerHeading = "%nArguments:%n",
        footer = {
            "  name=text       a named argument that is text, whatever it looks like: code=17",
            "  name:=value     a named argument that is a value: amount:=1500",
            "  name=@file      a named argument that is a tensor, read from NumPy's file",
            "  value           an argument without a name; before those that have one",
            "",
            "Values:",
            "  1  -2  0x1f  2.5  1e-3  inf  nan  1+2j      numbers",
            "  true  false  none",
            "  'text'  \"text\"                              text; the shell must pass the quotes on: \"'text'\"",
            "  [1,2,[3]]  (1,2)  {a:1}                     list, tuple, dict; all JSON is a value",
            "  float32  int64  bool  double  torch.float16 element types",
            "  cpu  cuda:1                                 devices",
            "  a.npy  @file                                tensors",
            "",
            "Examples:",
            "  waybill call --to ps0 aten::mm a.npy b.npy --out c.npy",
            "  waybill call --to ps0 aten::sum a.npy [0] dtype:=float64",
            "  waybill call --to ps0 text.count text=\"to be or not to be\"",
            "  waybill call --to ps0 math.scale a.npy by:=3 --out scaled.npy",
            "  waybill call --to ps0 statistics:mean [1,2,6]",
            "  waybill call --to ps0 --type 0x142 --payload hello --json",
            "  waybill call --to ps0 text.count text=hello --context tenant=acme",
            "",
            "Exit code: 0 when the call got a response, 1 when it failed, 2 for wrong usage."
        })
public final class CallCommand implements Callable<Integer> {

    private static final Pattern PYTHON_FUNCTION = Pattern.compile("[^:]+:[^:]+");
    private static final int MAX_PAYLOAD_BYTES = 1 << 30;

    private final Surroundings surroundings;

    @Mixin
    private HomeOption home;

    @Option(
            names = "--to",
            required = true,
            paramLabel = "WORKER",
            description = "The name or the id of who is called.")
    private String to;

    @Option(
            names = "--timeout",
            paramLabel = "TIME",
            converter = DurationOption.class,
            description = "How long to wait, such as 500ms or 5s; 0 for no limit. Default: 60s.")
    private Duration timeout;

    @Option(
            names = "--out",
            paramLabel = "FILE",
            description =
                    "Writes the result's tensor to a .npy file; once per tensor when there are several. With --type, writes"
                            + " the payload.")
    private List<Path> out = List.of();

    @Option(names = "--async", description = "The function returns a future; the result is what that completes with.")
    private boolean async;

    @Option(names = "--json", description = "Prints the result as JSON.")
    private boolean json;

    @Option(
            names = "--type",
            paramLabel = "TYPE",
            description = "Calls a request type by its code or name instead, such as 0x142.")
    private String type;

    @Option(
            names = "--payload",
            paramLabel = "TEXT|@FILE",
            description = "The payload of a --type call: text, or a file's bytes; @- is standard input.")
    private String payload;

    private byte[] content;

    @Option(
            names = "--context",
            paramLabel = "NAME=VALUE",
            description = "A value that follows the call into its handler and into nested calls. May be repeated.")
    private List<String> context = List.of();

    @Option(
            names = "--traceparent",
            paramLabel = "TEXT",
            description = "The trace that the call is part of, as in W3C Trace Context: 00-<trace id>-<span id>-01.")
    private String traceparent;

    @Parameters(index = "0", arity = "0..1", paramLabel = "OPERATION", description = "What is called.")
    private String operation;

    @Parameters(index = "1..*", arity = "0..*", paramLabel = "ARG", description = "Its arguments; see below.")
    private List<String> arguments = List.of();

    public CallCommand(Surroundings surroundings) {
        this.surroundings = surroundings;
    }

    @Override
    public Integer call() throws IOException, UsageException, CommandFailedException {
        request(NpyTensors.checked(), Bare.OPERATION); // syntax errors are reported before any action
        CallContext takenAlong = takenAlong();
        Host host = Host.real();
        Home opened = home.openExisting(surroundings, host);
        try (CallingWorker caller = CallingWorker.join(opened);
                NpyTensors files = new NpyTensors(caller.worker().buffers())) {
            boolean isFunction = during(caller, () -> isFunctionOf(caller));
            Request request = request(files, isFunction ? Bare.FUNCTION : Bare.OPERATION);
            long sinceNs = host.clock().monotonicNs();
            try (Response response = during(caller, () -> takenAlong.supply(() -> caller.call(request)))) {
                long tookNs = host.clock().monotonicNs() - sinceNs;
                CallResult.of(response, tookNs, to).show(surroundings.out(), out, json);
            } catch (CallException e) {
                throw new FailedCall(caller, to, request, operation, arguments).explained(e);
            }
        }
        return 0;
    }

    /** Runs an action that waits for the callee, and reports the wait; also to programs, while the callee starts. */
    private <T> T during(CallingWorker caller, Supplier<T> work) {
        Supplier<Optional<String>> obstacle = () -> caller.peer(to)
                .filter(peer -> peer.state() == PeerState.STARTING)
                .map(peer -> "for its start");
        Threads threads = caller.worker().directory().home().host().threads();
        return Progress.during(surroundings, threads, "waiting for " + to + " to respond", obstacle, work);
    }

    private CallContext takenAlong() throws UsageException {
        CallContext read = CallContext.EMPTY;
        try {
            for (String each : context) {
                int at = each.indexOf('=');
                if (at < 0) {
                    throw new UsageException("--context takes NAME=VALUE, and not " + each);
                }
                read = read.with(each.substring(0, at), each.substring(at + 1));
            }
            return traceparent == null ? read : read.with(TraceContext.parse(traceparent));
        } catch (IllegalArgumentException e) {
            throw new UsageException(e.getMessage(), e);
        }
    }

    /** Interpretation of a name without a kind. */
    private enum Bare {
        OPERATION,
        FUNCTION
    }

    /** Returns whether the name has no kind, and the callee serves a function of that name and no operation. */
    private boolean isFunctionOf(CallingWorker caller) {
        boolean isBare = type == null
                && !HandlerKey.isOperator(operation)
                && !isPython()
                && !operation.startsWith(HandlerKey.CONTROL_PREFIX)
                && !operation.startsWith(HandlerKey.FUNCTION_PREFIX);
        if (!isBare) {
            return false;
        }
        List<String> served = caller.served(to, timeout);
        return served.contains(HandlerKey.FUNCTION_PREFIX + operation) && !served.contains(operation);
    }

    private Request request(TensorFiles files, Bare bare) throws IOException, UsageException, CommandFailedException {
        Request request = type == null ? named(files, bare) : raw();
        return timeout == null ? request : request.timeout(timeout);
    }

    private Request named(TensorFiles files, Bare bare) throws UsageException {
        if (operation == null) {
            throw new UsageException("Missing required parameter: OPERATION, or --type");
        }
        if (payload != null) {
            throw new UsageException("--payload goes with --type; an operation takes its arguments as words");
        }
        try {
            Invocation call = arguments(files).toInvocation(name());
            return Request.invocation(to, called(bare), async ? call.withMode(Invocation.Mode.ASYNC) : call);
        } catch (IllegalArgumentException e) {
            throw new UsageException(e.getMessage(), e);
        }
    }

    private String name() {
        for (String prefix : List.of(HandlerKey.CONTROL_PREFIX, HandlerKey.FUNCTION_PREFIX)) {
            if (operation.startsWith(prefix)) {
                return operation.substring(prefix.length());
            }
        }
        return operation;
    }

    /** Returns whether the name is that of a Python function: a module and a function in it. */
    private boolean isPython() {
        return !operation.startsWith(HandlerKey.FUNCTION_PREFIX)
                && !operation.startsWith(HandlerKey.CONTROL_PREFIX)
                && PYTHON_FUNCTION.matcher(operation).matches();
    }

    private MessageType called(Bare bare) {
        if (operation.startsWith(HandlerKey.CONTROL_PREFIX)) {
            return MessageType.CONTROL_CALL;
        }
        if (isPython()) {
            return MessageType.PYTHON_CALL;
        }
        boolean isScript = HandlerKey.isOperator(operation)
                || operation.startsWith(HandlerKey.FUNCTION_PREFIX)
                || bare == Bare.FUNCTION
                || async;
        return isScript ? MessageType.SCRIPT_CALL : MessageType.NAMED_CALL;
    }

    private CallArguments arguments(TensorFiles files) throws UsageException {
        CallArguments read = new CallArguments(files);
        for (String word : arguments) {
            try {
                read.add(word);
            } catch (ArgumentException e) {
                throw new UsageException("argument '" + word + "': " + e.getMessage(), e);
            }
        }
        return read;
    }

    private Request raw() throws UsageException, CommandFailedException, IOException {
        if (operation != null) {
            throw new UsageException("--type takes its content from --payload, and no operation: " + operation);
        }
        MessageType requested = MessageType.named(type)
                .filter(MessageType::isRequest)
                .orElseThrow(() -> new UsageException(
                        "no request type '" + type + "': give a code such as 0x142, or a name such as SCRIPT_CALL"));
        return Request.raw(to, requested, ByteBuffer.wrap(content()), new ArrayList<>());
    }

    /** Reads the payload, which a pipe provides only once. */
    private byte[] content() throws CommandFailedException, IOException {
        if (content == null) {
            content = readContent();
        }
        return content;
    }

    private byte[] readContent() throws CommandFailedException, IOException {
        if (payload == null) {
            return new byte[0];
        }
        if (!payload.startsWith("@")) {
            return payload.getBytes(StandardCharsets.UTF_8);
        }
        String file = payload.substring(1);
        try (InputStream in = file.equals("-") ? System.in : Files.newInputStream(Path.of(file))) {
            byte[] bytes = in.readNBytes(MAX_PAYLOAD_BYTES + 1);
            if (bytes.length > MAX_PAYLOAD_BYTES) {
                throw new CommandFailedException(
                        "a payload has at most " + MAX_PAYLOAD_BYTES + " bytes, and " + file + " has more");
            }
            return bytes;
        } catch (NoSuchFileException e) {
            throw new CommandFailedException("no file " + file + "; text stands without an @: --payload TEXT", e);
        }
    }
}
