/** Command that shows which version of each bundle runs where. */
package org.acme.versions;
