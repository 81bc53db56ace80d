/** Audit log of the requests that a worker served: caller, operation and outcome. */
package org.acme.audit;
