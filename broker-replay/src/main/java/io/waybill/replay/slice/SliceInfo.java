package io.waybill.replay.slice;

import io.waybill.api.WorkerInfo;
import io.waybill.home.note.NotedOutcomes.Noted;
import io.waybill.home.note.Responders.Responder;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * What a slice says of itself, in {@code slice.json}. Immutable.
 *
 * <pre>
 * format     1
 * payloads   full, digest or none
 * calls      how many were selected
 * needed     how many more they depend on
 * storages   how many tensors' storages have an entry
 * problems   list of strings: what could not be taken along
 * workers    list of objects: who sent or received some of it, lowest id first
 *   id, name
 *   version, javaVersion   as its worker.json had them; left out when it had none
 *   serves                 list of strings: as its worker.json had them
 *   bundles                list of objects: the jars in its directory
 *     file, symbolicName, version, sha256
 *   responders             list of objects: the bundles that its responses name
 *     number               in hexadecimal
 *     name, version
 *   outcomes               list of strings: what it gave its own calls in the slice by itself: id, error code, and when, in ns since 1970
 * </pre>
 *
 * Fields that a reader does not know are skipped.
 */
public record SliceInfo(
        Payloads payloads, long calls, long needed, long storages, List<String> problems, List<Member> workers) {

    public SliceInfo {
        problems = List.copyOf(problems);
        workers = List.copyOf(workers);
    }

    /**
     * A worker, as the home had it when the slice was made.
     *
     * @param version of Waybill; empty text when it is not known
     * @param javaVersion empty text when it is not known
     * @param responders the bundles that its responses name
     * @param outcomes that it gave its own calls by itself, by their ids
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
     * @param file where it lay in the worker's directory
     * @param sha256 in hexadecimal
     */
    public record Bundle(String file, String symbolicName, String version, String sha256) {}
}
