package io.waybill.autograd;

import io.waybill.api.CallException;
import io.waybill.api.Message;
import io.waybill.api.RRef;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.broker.Broker;
import io.waybill.api.handler.MessageHandler;
import io.waybill.api.intercept.CallInterceptor;
import io.waybill.api.intercept.IgnoresMessage;
import io.waybill.api.intercept.IncomingResponse;
import io.waybill.api.intercept.InterceptedCall;
import io.waybill.api.intercept.InterceptsMessage;
import io.waybill.api.intercept.OutgoingCall;
import io.waybill.api.tensor.Tensor;
import io.waybill.autograd.call.ArrivedTensors;
import io.waybill.autograd.call.CallWrapper;
import io.waybill.autograd.call.ForwardHandler;
import io.waybill.autograd.call.GraphMessages;
import io.waybill.autograd.context.AutogradContext;
import io.waybill.autograd.context.CleanUp;
import io.waybill.autograd.context.ContextArchive;
import io.waybill.autograd.context.ContextTable;
import io.waybill.autograd.context.CurrentContexts;
import io.waybill.autograd.context.Notifications;
import io.waybill.autograd.context.Orphans;
import io.waybill.autograd.context.WorkerIds;
import io.waybill.autograd.graph.ContextGraph;
import io.waybill.autograd.graph.LeafGradient;
import io.waybill.autograd.optim.DistributedOptimizer;
import io.waybill.autograd.optim.OptimizerSettings;
import io.waybill.autograd.pass.BackwardHandler;
import io.waybill.autograd.pass.Passes;
import io.waybill.autograd.pass.ReferencePasses;
import io.waybill.autograd.pass.RootPasses;
import io.waybill.autograd.step.OptimizerTable;
import io.waybill.autograd.step.OwnersOptimizer;
import io.waybill.torch.NativeAutograd;
import io.waybill.torch.NativeState;
import io.waybill.torch.NativeTensors;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.function.BiConsumer;
import org.osgi.service.component.annotations.Activate;
import org.osgi.service.component.annotations.Component;
import org.osgi.service.component.annotations.Deactivate;
import org.osgi.service.component.annotations.Reference;

/**
 * Distributed autograd in one worker: the contexts, the wrapping of calls, and the service. In a node it is a
 * component; a program creates one with its worker's {@link Broker}, and adds it with {@link ForwardRequests},
 * {@link PassRequests} and {@link BackwardRequests} to its worker, and with {@link OptimizerRequests} if the worker
 * owns parameters of optimizers.
 *
 * <p><b>Threads.</b> Any. <b>Ownership.</b> {@link #close} releases the contexts' objects of libtorch.
 */
@Component(
        service = {Autograd.class, DistAutograd.class, NativeAutograd.class, CallInterceptor.class},
        property = "service.ranking:Integer=" + Autograd.RANKING)
@InterceptsMessage
@IgnoresMessage({"BACKWARD_AUTOGRAD_REQ", "CLEANUP_AUTOGRAD_CONTEXT_REQ", "RREF_BACKWARD_REQ"})
public final class Autograd implements DistAutograd, NativeAutograd, CallInterceptor {

    /**
     * Service ranking: nearer to the program than profilers and compression, which therefore receive the wrapped call.
     */
    static final int RANKING = 1000;
    /** Interval at which the drivers of contexts are asked whether they still have them. */
    private static final Duration LOOK_PERIOD = Duration.ofSeconds(30);

    private final Broker broker;
    private final NativeTensors natives;
    private final Optional<NativeState> state; // empty in a program
    private final CurrentContexts current = new CurrentContexts();
    private final ContextTable contexts;
    private final CleanUp cleanUp;
    private final Orphans orphans;
    private final Passes passes;
    private final RootPasses rootPasses;
    private final ReferencePasses referencePasses;
    private final CallWrapper wrapper;
    private final ForwardHandler forward;
    private final BackwardHandler backward;
    private final OptimizerTable optimizers;

    /** Creates the contexts of a node, with those of an earlier version of this bundle. */
    @Activate
    public Autograd(@Reference Broker broker, @Reference NativeTensors natives, @Reference NativeState state) {
        this(broker, natives, state, LOOK_PERIOD);
    }

    /** Creates the contexts of a program's worker; none at first. */
    public Autograd(Broker broker, NativeTensors natives) {
        this(broker, natives, LOOK_PERIOD);
    }

    /**
     * @param period interval between checks of other workers' contexts, and of contexts that were released through an
     *     earlier version
     */
    Autograd(Broker broker, NativeTensors natives, NativeState state, Duration period) {
        this(broker, natives, Optional.of(state), period);
    }

    /** @param period interval between checks of other workers' contexts */
    Autograd(Broker broker, NativeTensors natives, Duration period) {
        this(broker, natives, Optional.empty(), period);
    }

    private Autograd(Broker broker, NativeTensors natives, Optional<NativeState> state, Duration period) {
        this.state = state;
        this.broker = broker;
        this.natives = natives;
        this.contexts = new ContextTable(id -> new AutogradContext(id, new ContextGraph(), natives));
        this.optimizers = new OptimizerTable(natives);
        state.ifPresent(kept -> ContextArchive.restore(contexts, kept, natives));
        state.ifPresent(optimizers::restore);
        ArrivedTensors arrived = new ArrivedTensors(natives);
        GraphMessages messages = new GraphMessages(broker, natives, arrived);
        Notifications notifications = new Notifications(broker);
        this.passes = new Passes(broker, notifications, arrived, natives.operatorEvents());
        this.cleanUp = new CleanUp(broker, contexts, notifications, this::end, state);
        this.orphans = new Orphans(broker, contexts, cleanUp, notifications, passes::workerEnded, optimizers::closeIf);
        this.rootPasses = new RootPasses(broker, passes, natives);
        this.referencePasses = new ReferencePasses(broker, contexts, rootPasses);
        this.wrapper = new CallWrapper(current, contexts, new WorkerIds(broker), messages, orphans::ask);
        this.forward = new ForwardHandler(contexts, messages);
        this.backward = new BackwardHandler(contexts, passes, arrived);
        cleanUp.releaseLeftBehind();
        orphans.start(period);
    }

    private void end(AutogradContext context) {
        passes.release(context);
        context.close();
    }

    /** Deactivates this version: the next one takes ownership of the contexts and optimizers. */
    @Deactivate
    void leave() {
        contexts.all().forEach(passes::leave);
        ContextArchive.save(contexts, state.orElseThrow());
        optimizers.save(state.orElseThrow());
    }

    /** Closes all passes, contexts and optimizers of this worker. Other workers are not notified. */
    public void close() {
        optimizers.closeIf(id -> true);
        for (AutogradContext context : contexts.all()) {
            contexts.remove(context.id()).ifPresent(this::end);
        }
    }

    // ---- requests of other workers

    MessageHandler forward() {
        return forward;
    }

    MessageHandler backward() {
        return backward;
    }

    MessageHandler referencePasses() {
        return referencePasses;
    }

    OptimizerTable optimizers() {
        return optimizers;
    }

    /** Returns the context of a request, and creates it at the first one. */
    AutogradContext arrive(Message message, long id) throws RejectedMessageException {
        AutogradContext context = contexts.arrive(id);
        context.know(message.from());
        return context;
    }

    // ---- the service

    @Override
    public <E extends Exception> void context(Body<E> body) throws E {
        long id = open();
        try {
            body.run(id);
        } finally {
            release(id);
        }
    }

    @Override
    public long open() {
        requireHere();
        long before = current.find();
        if (before != CurrentContexts.NONE && contexts.find(before).isPresent()) {
            throw new IllegalStateException("Already have an autograd context id for this thread.");
        }
        long id = contexts.open(broker.nextId()).id();
        current.enter(id);
        return id;
    }

    @Override
    public void release(long context) {
        current.leave(context);
        if (!contexts.isHandedOver()) {
            cleanUp.release(context);
        }
        if (contexts.isHandedOver()) { // it may have happened meanwhile
            state.ifPresent(kept -> ContextArchive.releaseLater(context, kept));
        }
    }

    /** Releases a context that another worker has released. */
    void releasedBy(int worker, long context) {
        current.leave(context);
        cleanUp.releasedBy(worker, context);
    }

    @Override
    public int passes() {
        return passes.count();
    }

    @Override
    public long currentContext() {
        requireHere();
        long id = current.find();
        if (id == CurrentContexts.NONE || contexts.find(id).isEmpty()) {
            throw new IllegalStateException(
                    "Current thread doesn't have a valid autograd context. Please wrap your code"
                            + " using: `with torch.distributed.autograd.context() as context_id` to generate a valid context");
        }
        return id;
    }

    private void requireHere() {
        contexts.requireHere("this DistAutograd", "get the service again; contexts are still there");
    }

    AutogradContext require(long id) {
        requireHere();
        return contexts.find(id).orElseThrow(() -> new IllegalArgumentException(ContextTable.missing(id)));
    }

    @Override
    public void backward(long context, List<Tensor> roots) {
        backward(context, roots, false);
    }

    @Override
    public void backward(long context, List<Tensor> roots, boolean retainGraph) {
        backward(context, roots, retainGraph, BackwardMode.SMART);
    }

    @Override
    public void backward(long context, List<Tensor> roots, boolean retainGraph, BackwardMode mode) {
        rootPasses.run(require(context), roots, retainGraph, mode == BackwardMode.FAST);
    }

    @Override
    public void backward(long context, RRef reference, boolean retainGraph) {
        referencePasses.run(require(context), reference, retainGraph);
    }

    @Override
    public ContextGradients gradients(long context) {
        return new LiveGradients(require(context), natives);
    }

    @Override
    public boolean isInContext() {
        return current.find() != CurrentContexts.NONE;
    }

    @Override
    public void visitGradients(
            long context, BiConsumer<org.bytedeco.pytorch.Tensor, org.bytedeco.pytorch.Tensor> visitor) {
        for (LeafGradient each : require(context).graph().gradients()) {
            visitor.accept(each.leaf(), each.gradient());
        }
    }

    @Override
    public DistributedOptimizer optimizer(List<? extends RRef> parameters, OptimizerSettings settings) {
        requireHere();
        return OwnersOptimizer.create(broker, contexts, parameters, settings);
    }

    @Override
    public List<ContextStatus> contexts() {
        return contexts.all().stream()
                .map(context -> new ContextStatus(
                        context.id(),
                        context.driver(),
                        context.graph().sendCount(),
                        context.graph().recvCount(),
                        context.graph().gradientCount(),
                        context.graph().bytes(),
                        context.knownWorkers()))
                .toList();
    }

    // ---- calls of this worker

    @Override
    public void onRequest(OutgoingCall call) throws RejectedMessageException {
        wrapper.onRequest(call);
    }

    @Override
    public void onResponse(IncomingResponse response) throws RejectedMessageException {
        wrapper.onResponse(response);
    }

    @Override
    public void onFailure(InterceptedCall call, CallException failure) {
        wrapper.onFailure(call, failure);
    }
}
