/** Which requests a worker served, for whom, and how they ended. */
package org.acme.audit;
