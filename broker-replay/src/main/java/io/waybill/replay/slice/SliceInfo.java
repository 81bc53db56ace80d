package io.waybill.replay.slice;

import io.waybill.api.WorkerInfo;
import io.waybill.home.note.NotedOutcomes.Noted;
import io.waybill.home.note.Responders.Responder;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * Description of a slice, in {@code slice.json}; {@code docs/reference/slice.md} has its fields. Fields that a reader does not know are skipped.
 * Immutable.
 */
public record SliceInfo(
        Payloads payloads, long calls, long needed, long storages, List<String> problems, List<Member> workers) {

    public SliceInfo {
        problems = List.copyOf(problems);
        workers = List.copyOf(workers);
    }

    /**
     * A worker, as described by the home when the slice was created.
     *
     * @param version version of Waybill; empty text if unknown
     * @param javaVersion Java version; empty text if unknown
     * @param responders bundles that its responses name
     * @param outcomes outcomes that it gave its own calls by itself, by their ids
     */
    public record Member(
            WorkerInfo worker,
            String version,
            String javaVersion,
            List<String> serves,
            List<Bundle> bundles,
            List<Responder> responders,
            Map<Long, Noted> outcomes) {

        public Member {
            serves = List.copyOf(serves);
            bundles = List.copyOf(bundles);
            responders = List.copyOf(responders);
            outcomes = Collections.unmodifiableMap(new TreeMap<>(outcomes));
        }

        Member with(List<Responder> otherResponders, Map<Long, Noted> otherOutcomes) {
            return new Member(worker, version, javaVersion, serves, bundles, otherResponders, otherOutcomes);
        }
    }

    /**
     * A bundle's jar.
     *
     * @param file its path in the worker's directory
     * @param sha256 hash in hexadecimal
     */
    public record Bundle(String file, String symbolicName, String version, String sha256) {}
}
