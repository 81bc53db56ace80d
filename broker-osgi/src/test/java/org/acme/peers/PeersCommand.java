package org.acme.peers;

import io.waybill.api.Value;
import io.waybill.api.broker.Broker;
import io.waybill.api.broker.Incarnation;
import io.waybill.api.tool.ToolCommand;
import io.waybill.api.tool.ToolDescription;
import io.waybill.api.tool.ToolFailedException;
import io.waybill.api.tool.ToolRun;
import org.osgi.service.component.annotations.Activate;
import org.osgi.service.component.annotations.Component;
import org.osgi.service.component.annotations.Reference;

/** {@code waybill peers}: the workers that a node sees. */
@Component
public final class PeersCommand implements ToolCommand {

    private final Broker broker;

    @Activate
    public PeersCommand(@Reference Broker broker) {
        this.broker = broker;
    }

    @Override
    public ToolDescription description() {
        return ToolDescription.of("peers", "Lists the workers that the node sees.")
                .option("--min", "N", "Fails if there are fewer.");
    }

    @Override
    public void run(ToolRun run) throws ToolFailedException {
        for (Incarnation peer : broker.peers()) {
            if (run.isJson()) {
                run.json(Value.of(peer.worker().name()));
            } else {
                run.line(peer.worker().name() + " epoch " + peer.epoch());
            }
        }
        int min = Integer.parseInt(run.option("--min").orElse("0"));
        if (broker.peers().size() < min) {
            throw new ToolFailedException(
                    "expected " + min + " peers, found " + broker.peers().size());
        }
    }
}
