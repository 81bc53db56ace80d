package org.acme.peruid;

import io.waybill.api.policy.AccessPolicy;
import io.waybill.api.policy.AccessRequest;
import io.waybill.api.policy.Decision;
import java.util.Set;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.osgi.service.component.annotations.Activate;
import org.osgi.service.component.annotations.Component;

/** Serves the workers of some users, and the worker itself. */
@Component
public final class PerUidPolicy implements AccessPolicy {

    private final Set<Long> uids;

    /** Settings in {@code conf/org.acme.peruid.PerUidPolicy.cfg}. */
    public @interface Config {
        String uids() default "";
    }

    @Activate
    public PerUidPolicy(Config config) {
        uids = Pattern.compile(",")
                .splitAsStream(config.uids())
                .filter(uid -> !uid.isBlank())
                .map(uid -> Long.valueOf(uid.strip()))
                .collect(Collectors.toUnmodifiableSet());
    }

    @Override
    public Decision decide(AccessRequest request) {
        return request.isOwn() || uids.contains(request.uid())
                ? Decision.allow()
                : Decision.deny("uid " + request.uid() + " is not among the uids of this node");
    }
}
