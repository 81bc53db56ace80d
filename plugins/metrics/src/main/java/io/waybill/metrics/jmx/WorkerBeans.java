package io.waybill.metrics.jmx;

import io.waybill.api.broker.Broker;
import io.waybill.api.broker.ScheduledTask;
import io.waybill.api.metrics.HomeMetrics;
import io.waybill.api.metrics.WorkerMetrics;
import java.io.IOException;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import javax.management.JMException;
import javax.management.MBeanServer;
import javax.management.ObjectName;

/**
 * MXBeans {@code io.waybill:type=Worker,name=…} for the live workers of the home, refreshed every {@value #INTERVAL_S}
 * s.
 *
 * <p><b>Threads.</b> Those of the broker's tasks, one at a time.
 */
public final class WorkerBeans implements AutoCloseable {

    /** Max number of beans; further workers have none. */
    static final int MAX_BEANS = 1024;

    private static final Logger LOG = System.getLogger(WorkerBeans.class.getName());
    private static final long INTERVAL_S = 2;

    private final HomeMetrics home;
    private final Broker broker;
    private final MBeanServer server;
    private final Map<ObjectName, WorkerBean> beans = new HashMap<>(); // guarded by this
    private boolean closed; // guarded by this
    private ScheduledTask next; // guarded by this

    public WorkerBeans(HomeMetrics home, Broker broker, MBeanServer server) {
        this.home = home;
        this.broker = broker;
        this.server = server;
        look();
    }

    private synchronized void look() {
        if (closed) {
            return;
        }
        try {
            Set<ObjectName> found = new HashSet<>();
            for (WorkerMetrics worker : home.read()) {
                if (found.size() < MAX_BEANS) {
                    ObjectName name = name(worker);
                    found.add(name);
                    show(name, worker);
                }
            }
            for (ObjectName gone : Set.copyOf(beans.keySet())) {
                if (!found.contains(gone)) {
                    remove(gone);
                }
            }
        } catch (IOException | JMException e) {
            LOG.log(Level.WARNING, "The workers can''t be shown in JMX: {0}", e.getMessage());
        }
        next = broker.schedule(Duration.ofSeconds(INTERVAL_S), this::look);
    }

    private static ObjectName name(WorkerMetrics worker) throws JMException {
        return new ObjectName("io.waybill:type=Worker,name="
                + ObjectName.quote(worker.worker().name()));
    }

    private void show(ObjectName name, WorkerMetrics worker) throws JMException {
        WorkerBean bean = beans.get(name);
        if (bean == null) {
            bean = new WorkerBean(worker);
            server.registerMBean(bean, name);
            beans.put(name, bean);
        }
        bean.update(worker);
    }

    private void remove(ObjectName name) {
        beans.remove(name);
        try {
            server.unregisterMBean(name);
        } catch (JMException e) {
            LOG.log(Level.DEBUG, "A bean was gone already", e);
        }
    }

    /** Removes all beans. */
    @Override
    public synchronized void close() {
        closed = true;
        if (next != null) {
            next.cancel();
        }
        Set.copyOf(beans.keySet()).forEach(this::remove);
    }
}
