package io.waybill.profiler.profile;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.IntStream;

/**
 * Layout of a profile's events in a picture: each worker has some tracks. An event is placed below its cause if that is
 * of the same worker and encloses it in time; otherwise in a free track. Immutable.
 */
final class Tracks {

    private final List<ProfileEvent> events;
    private final int[] tracks;
    private final int[] depths;
    private final Map<Integer, Integer> counts = new TreeMap<>(); // number of tracks of each worker

    Tracks(List<ProfileEvent> events) {
        this.events = events;
        this.tracks = new int[events.size()];
        this.depths = new int[events.size()];
        Map<Integer, List<Deque<Integer>>> open = new HashMap<>(); // events, by worker and track
        IntStream.range(0, events.size())
                .boxed()
                .sorted(Comparator.comparingLong(index -> events.get(index).beginNs())) // stable: causes stay first
                .forEach(index ->
                        place(index, open.computeIfAbsent(events.get(index).worker(), worker -> new ArrayList<>())));
        open.forEach((worker, all) -> counts.put(worker, all.size()));
    }

    private void place(int index, List<Deque<Integer>> ofWorker) {
        ProfileEvent event = events.get(index);
        int free = -1;
        for (int track = 0; track < ofWorker.size(); track++) {
            Deque<Integer> open = ofWorker.get(track);
            while (!open.isEmpty()
                    && open.peek() != event.parent()
                    && events.get(open.peek()).endNs() <= event.beginNs()) {
                open.pop();
            }
            if (!open.isEmpty()
                    && open.peek() == event.parent()
                    && event.endNs() <= events.get(event.parent()).endNs()) {
                put(index, track, open);
                return;
            }
            free = free < 0 && open.isEmpty() ? track : free;
        }
        if (free < 0) {
            free = ofWorker.size();
            ofWorker.add(new ArrayDeque<>());
        }
        put(index, free, ofWorker.get(free));
    }

    private void put(int index, int track, Deque<Integer> open) {
        tracks[index] = track;
        depths[index] = open.size();
        open.push(index);
    }

    /** Returns the track of an event among those of its worker. */
    int track(int index) {
        return tracks[index];
    }

    /** Returns the number of events that enclose an event in its track. */
    int depth(int index) {
        return depths[index];
    }

    /** Returns the number of tracks of each worker, by its id. */
    Map<Integer, Integer> counts() {
        return counts;
    }
}
