package io.waybill.cli.workers;

import com.fasterxml.jackson.core.JsonGenerator;
import io.waybill.archive.ArchiveStatus;
import io.waybill.archive.Omission;
import io.waybill.cli.node.Quantities;
import io.waybill.cli.show.ShownTime;
import io.waybill.home.Peer;
import io.waybill.host.SafeFiles;
import java.io.IOException;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/** Lag of the workers' archives, as published by the workers. For one thread. */
final class ArchiveLag {

    private final Map<Integer, ArchiveStatus> byWorker = new HashMap<>();

    /** Reads the lags of workers that have archived storages; an unreadable one counts as absent. */
    ArchiveLag(List<Peer> peers, SafeFiles files) {
        for (Peer peer : peers) {
            try {
                ArchiveStatus.read(peer.path(), files).ifPresent(status -> byWorker.put(peer.id(), status));
            } catch (IOException e) {
                // the lag is unknown then
            }
        }
    }

    /** Describes problems of a worker's archive; empty when there are none. */
    String remark(int worker) {
        ArchiveStatus status = byWorker.get(worker);
        if (status == null) {
            return "";
        }
        long lost = status.droppedStorages() - status.dropped().getOrDefault(Omission.TOO_LARGE, 0L);
        String behind = status.waitingStorages() == 0
                ? ""
                : status.waitingBytes() + " bytes wait for " + status.lagMs() + " ms";
        String dropped = lost == 0 ? "" : lost + " tensors not kept";
        String both = behind + (behind.isEmpty() || dropped.isEmpty() ? "" : ", ") + dropped;
        return both.isEmpty() ? "" : " (archive: " + both + ")";
    }

    void writeJson(int worker, JsonGenerator json) throws IOException {
        ArchiveStatus status = byWorker.get(worker);
        if (status == null) {
            return;
        }
        json.writeObjectFieldStart("archive");
        json.writeStringField("policy", Quantities.written(status.policy()));
        json.writeStringField("written", ShownTime.utc(status.writtenNs()));
        json.writeNumberField("waiting_storages", status.waitingStorages());
        json.writeNumberField("waiting_bytes", status.waitingBytes());
        json.writeNumberField("lag_ms", status.lagMs());
        json.writeNumberField("archived_storages", status.archivedStorages());
        json.writeNumberField("archived_bytes", status.archivedBytes());
        json.writeNumberField("used_bytes", status.usedBytes());
        json.writeObjectFieldStart("not_kept");
        for (Map.Entry<Omission, Long> dropped : status.dropped().entrySet()) {
            json.writeNumberField(dropped.getKey().name().toLowerCase(Locale.ROOT), dropped.getValue());
        }
        json.writeEndObject();
        json.writeEndObject();
    }
}
